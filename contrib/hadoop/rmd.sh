# Makes "yarn resourcemanager" run rmd. Hadoop 3 reads this file from libexec/shellprofile.d. If the
# file is removed, the command runs the Java ResourceManager again.
#
# The scripts of Hadoop keep their part: the names of pid file and log, --daemon start, stop and
# status, HADOOP_STOP_TIMEOUT, and the exit codes. Variables of hadoop-env.sh:
#
#   RMD          the program; /usr/bin/rmd if it is not set
#   RMD_CONFIG   its rmd.yaml; /etc/rmd/rmd.yaml if that exists. Without one, rmd reads yarn-site.xml
#   RMD_DATA     its data directory without rmd.yaml; /var/lib/hadoop-yarn/rmd if it is not set

## @description  Run rmd instead of the Java ResourceManager
## @audience     private
function yarn_subcommand_resourcemanager
{
  case "$1" in
    -format-state-store)
      hadoop_error "ERROR: rmd has no state store to format. To begin a new cluster, stop all replicas and remove their data directories."
      exit 1
    ;;
    -remove-application-from-state-store)
      hadoop_error "ERROR: rmd forgets ended applications by itself, see yarn.resourcemanager.max-completed-applications. To end one: rmd app kill $2"
      exit 1
    ;;
    -format-conf-store|-convert-fs-configuration)
      yarncmd_case resourcemanager "$@" # the class of the Java ResourceManager works without one
      return
    ;;
  esac
  if [[ -z "${RMD_CONFIG}" && -d /etc/rmd && ! -x /etc/rmd && ! "${HADOOP_DAEMON_MODE}" =~ ^(status|stop)$ ]]; then
    hadoop_error "ERROR: $(id -un) may not read /etc/rmd: usermod -aG rmd $(id -un), and chown the files in it"
    exit 1
  fi
  # shellcheck disable=SC2034 # these are read by hadoop_generic_java_subcmd_handler
  HADOOP_SUBCMD_SUPPORTDAEMONIZATION="true"
  # shellcheck disable=SC2034
  HADOOP_CLASSNAME="rmd"

  ## @description  Replace this process by rmd
  ## @param        command
  ## @param        class
  ## @param        pidfile
  function hadoop_start_daemon
  {
    local command=$1 pidfile=$3
    shift 3
    if ! echo "${BASHPID}" >"${pidfile}" 2>/dev/null; then
      hadoop_error "ERROR:  Cannot write ${command} pid ${pidfile}."
    fi
    if [[ -z "${RMD_CONFIG}" && -f /etc/rmd/rmd.yaml ]]; then
      RMD_CONFIG=/etc/rmd/rmd.yaml
    fi
    if [[ -n "${RMD_CONFIG}" ]]; then
      export RMD_CONFIG
    else
      export RMD_DATA="${RMD_DATA:-/var/lib/hadoop-yarn/rmd}"
    fi
    export HADOOP_CONF_DIR
    if [[ "${HADOOP_DAEMON_MODE}" != "default" ]]; then
      exec 2>>"${HADOOP_LOG_DIR}/${HADOOP_LOGFILE}"
    fi
    # Hadoop's scripts and monitors know a daemon by this name in its command line.
    exec -a "rmd -Dproc_${command}" "${RMD:-/usr/bin/rmd}" server "$@"
  }
}
