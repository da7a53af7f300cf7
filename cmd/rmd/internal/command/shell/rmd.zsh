#compdef rmd
# zsh completion for rmd: a file _rmd in a directory of $fpath, or source it
_rmd() {
  local -a lines found shown
  local line files=0
  lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    [[ -z $line ]] && continue
    if [[ $line == :files ]]; then files=1; continue; fi
    found+=("${line%%$'\t'*}")
    if [[ $line == *$'\t'* ]]; then
      shown+=("${line%%$'\t'*}  -- ${line#*$'\t'}")
    else
      shown+=("$line")
    fi
  done
  (( $#found )) && compadd -l -d shown -a found
  (( files )) && _files
  return 0
}
if [[ $funcstack[1] == _rmd ]]; then
  _rmd "$@"
else
  compdef _rmd rmd
fi
