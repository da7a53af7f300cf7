package replica

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
	"rmd/internal/certificate"
	"rmd/transport/hadoop"
)

// InitVerb returns the command that writes the files of replicas.
func InitVerb() verb.Verb {
	return verb.Verb{
		Name: "init", Usage: "write a commented rmd.yaml, and with --tls also a CA and a certificate",
		Long: "With --replicas it writes one directory for each replica of a new cluster, ready to be copied to /etc/rmd: rmd.yaml, Hadoop's files, certificates and a " +
			"unit file, and beside them the CA and the client certificate \"admin\". The replicas create the cluster themselves. On loopback addresses all of them run on this machine. " +
			"HOST:PORT moves REST from port 8088 to PORT and the other ports by as much: 8090 (REST over TLS), 8034 (replicas) and YARN's 8030 to 8033. " +
			"So two clusters can share machines, and the replicas of one a loopback address.\n" +
			"With --replica it writes the directory of one replica beside those of the others, with their settings, and names it in their yarn-site.xml: of a replica to add, or with another address. For a replica that is there it makes a new certificate.\n" +
			"With --remove it takes a replica that left the cluster out of the yarn-site.xml of the others and out of rmd.env. It deletes nothing.\n" +
			"Without them it writes the files of one replica. For the next replica, repeat the command with another --id in the directory of the CA.\nCopy ca.pem, ID.pem, ID-key.pem and ID.yaml to that machine. Do not copy the CA's key.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "replicas",
				Usage: "all replicas of a new cluster: rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13, each with :PORT behind it if REST is not at 8088"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "dir",
				Usage: "target directory; with --replicas a new one, named as the cluster by default", Value: "."}),
			&cli.StringFlag{Name: "kerberos",
				Usage: "with --replicas: the realm in which callers prove who they are: EXAMPLE.COM", DefaultText: "none"},
			&cli.StringFlag{Name: "replica", Usage: "one replica of the cluster whose files are in --dir: rm4=10.0.0.14"},
			&cli.StringFlag{Name: "instead-of", Usage: "with --replica: the replica that it replaces", DefaultText: "none"},
			&cli.StringFlag{Name: "remove", Usage: "the replica to take out of the files in --dir, once it left the cluster: rm4",
				DefaultText: "none"},
			&cli.StringFlag{Name: "id", Usage: "id of the replica", Value: "rm1"},
			&cli.StringFlag{Name: "cluster", Usage: "name of the cluster", Value: "rmd"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "data", Usage: "data directory of the replica", Value: "/var/lib/rmd"}),
			&cli.StringFlag{Name: "advertise", Usage: "HOST:PORT that the other replicas dial", DefaultText: "loopback only"},
			&cli.BoolFlag{Name: "tls", Usage: "create a certificate for the replica, and a CA unless one exists"},
			&cli.StringSliceFlag{Name: "host", Usage: "additional name or address in the certificate"},
		},
		Changes: true,
		Examples: []string{"rmd init --cluster prod --replicas rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13 --tls",
			"rmd init --replicas rm1=a.example.com,rm2=b.example.com,rm3=c.example.com --tls --kerberos EXAMPLE.COM",
			"rmd init --cluster try --replicas rm1=127.0.0.1:9088,rm2=127.0.0.1:9188,rm3=127.0.0.1:9288",
			"rmd init --dir prod --replica rm4=10.0.0.14 --instead-of rm1", "rmd init --dir prod --remove rm4",
			"rmd init --id rm1 --cluster prod",
			"rmd init --dir /etc/rmd --id rm1 --advertise 10.0.0.11:8034 --tls"},
		Surplus: func(c *verb.Call) error {
			if !c.IsSet("replicas") {
				return nil
			}
			var all []string
			for _, word := range append([]string{c.String("replicas")}, c.Args().Slice()...) {
				if word = strings.Trim(word, ","); word != "" {
					all = append(all, word)
				}
			}
			return clierr.Usagef("separate the replicas by commas: --replicas "+strings.Join(all, ","),
				"too many arguments: %q", c.Arg(0))
		},
		Run: func(c *verb.Call) error {
			switch {
			case c.IsSet("replica"):
				return runInitReplica(c)
			case c.IsSet("remove"):
				return runInitRemove(c)
			case c.IsSet("instead-of"):
				return clierr.Usagef("write --replica rm4=10.0.0.14 too", "--instead-of names the replica that --replica replaces")
			case c.IsSet("replicas"):
				return runInitReplicas(c)
			case c.IsSet("kerberos"):
				return clierr.Usagef("write --replicas rm1=HOST,rm2=HOST,rm3=HOST too",
					"--kerberos is for Hadoop's files, which --replicas writes")
			}
			return runInit(c)
		},
	}
}

func runInit(c *verb.Call) error {
	dir, id, name := c.String("dir"), c.String("id"), c.String("cluster")
	if all, err := replicasIn(dir); err == nil {
		return clierr.New(clierr.CodeExists, "write --replica "+id+"=HOST, so that the replica opens the same ports",
			"%s has the directories of the replicas of a cluster, such as %s", dir, all[0].id)
	}
	set := map[string]string{"id": id, "cluster": name, "data": c.String("data")}
	hosts, err := addresses(c, set)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, "rmd.yaml")
	if _, err := os.Stat(file); err == nil {
		file = filepath.Join(dir, id+".yaml")
	}
	if _, err := os.Stat(file); err == nil {
		return clierr.New(clierr.CodeExists, "choose another --dir or --id, or remove the file", "%s already exists", file)
	}
	if c.Bool("tls") {
		if err := makeCertificates(c, dir, name, id, hosts, set); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := config.Sample(&b, set); err != nil {
		return clierr.Usagef("see rmd init --help", "%v", err)
	}
	if err := writePublic(file, b.Bytes()); err != nil {
		return err
	}
	l, err := loadWritten(file)
	if err != nil {
		return err
	}
	if err := sayPorts(c, l); err != nil {
		return err
	}
	c.PrintMessage("start the replica:   rmd server --config %s", file)
	c.PrintMessage("first replica only:  rmd cluster init")
	c.PrintMessage("other replicas:      rmd cluster join, with a token from \"rmd cluster token create\"")
	_, err = fmt.Fprintln(c.Program.Out, file)
	return err
}

// writePublic writes a file that the replica's user, nodes and clients must read, also if the umask of
// the administrator hides new files from others.
func writePublic(file string, b []byte) error {
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return err
	}
	return os.Chmod(file, 0o644)
}

// makePublic creates directories below one that exists, for files of writePublic.
func makePublic(root string, below ...string) error {
	for _, name := range below {
		root = filepath.Join(root, name)
		if err := os.Mkdir(root, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
		if err := os.Chmod(root, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// sayPorts prints the addresses on which a replica with this configuration listens: YARN's ports
// only with Hadoop's files, and REST over TLS only if a port is configured.
func sayPorts(c *verb.Call, l *config.Loaded) error {
	listens := []string{l.Raft.Listen + " (replicas)"}
	if l.HTTP.Listen != "none" {
		listens = append(listens, l.HTTP.Listen+" (REST, pages)")
	}
	if at := l.HTTP.ListenTLS; at != "" {
		listens = append(listens, at+" (REST, pages over TLS)")
	}
	if l.Hadoop != nil {
		at, err := hadoop.AddressesOf(l.Hadoop, l.ID)
		if err != nil {
			return err
		}
		listens = append(listens, at.Client.Listen+" (YARN clients)", at.Scheduler.Listen+" (AMs)",
			at.Tracker.Listen+" (NodeManagers)", at.Admin.Listen+" (yarn rmadmin)")
	}
	for i := range listens[:len(listens)-1] {
		listens[i] += ","
	}
	const column = 21 // of the values in what init prints
	lines := verb.Pack(listens, " ", 80-column)
	c.PrintMessage("%-20s %s", l.ID+" listens on:", strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", column)))
	return nil
}

// addresses fills in listen and advertise, and returns the names for the certificate.
func addresses(c *verb.Call, set map[string]string) ([]string, error) {
	hosts := []string{"localhost", "127.0.0.1"}
	add := func(h string) {
		if h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	if a := c.String("advertise"); a != "" {
		host, port, err := net.SplitHostPort(a)
		if err != nil || host == "" {
			return nil, clierr.Usagef("write --advertise 10.0.0.11:8034", "%q is not HOST:PORT", a)
		}
		set["raft.advertise"] = a
		if config.Loopback(host) {
			set["raft.listen"] = a
		} else {
			set["raft.listen"], set["http.listen_tls"] = net.JoinHostPort("0.0.0.0", port),
				net.JoinHostPort("0.0.0.0", strconv.Itoa(httpsPort))
			if !c.Bool("tls") {
				return nil, clierr.Usagef("add --tls", "replicas on several machines need certificates")
			}
		}
		add(host)
	}
	for _, h := range c.StringSlice("host") {
		add(strings.TrimSpace(h))
	}
	if h, err := os.Hostname(); err == nil {
		add(h)
	}
	return hosts, nil
}

func makeCertificates(c *verb.Call, dir, name, id string, hosts []string, set map[string]string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	ca, made, err := certificate.Open(abs, name, time.Now())
	if err != nil {
		return err
	}
	if made {
		c.PrintMessage("new CA:              %s (keep ca-key.pem secret and off the replicas)", filepath.Join(abs, "ca.pem"))
	}
	files, err := ca.Issue(abs, name, id, hosts, time.Now())
	if os.IsExist(err) {
		return clierr.New(clierr.CodeExists, "choose another --id, or remove the file",
			"a certificate of %s already exists", id)
	}
	if err != nil {
		return err
	}
	set["tls.ca"], set["tls.cert"], set["tls.key"] = files.CA, files.Cert, files.Key
	return nil
}
