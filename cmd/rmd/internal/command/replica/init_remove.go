package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
)

// runInitRemove takes a replica that left the cluster out of the files of the others.
func runInitRemove(c *verb.Call) error {
	if err := checkAlone(c, "remove", "instead-of"); err != nil {
		return err
	}
	f := &replicaFiles{dir: filepath.Clean(c.String("dir")), gone: c.String("remove")}
	known, err := replicasIn(f.dir)
	if err != nil {
		return err
	}
	stay := slices.DeleteFunc(slices.Clone(known), func(r replicaHost) bool { return r.id == f.gone })
	switch len(stay) {
	case len(known):
		return noReplica(f.dir, f.gone)
	case 0:
		return clierr.Usagef("delete "+f.dir+" if the cluster is gone", "%s is the only replica in %s", f.gone, f.dir)
	}
	f.from, f.to = stay[0], stay[0] // nothing moves
	keys, err := config.Given(filepath.Join(f.dir, f.from.id, "rmd.yaml"))
	if err != nil {
		return configError(err)
	}
	abs, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	if err := f.rewriteSites(stay); err != nil {
		return err
	}
	if err := f.retire(); err != nil {
		return err
	}
	all := &clusterFiles{replicas: stay, tls: keys["tls.cert"] != ""}
	if err := all.writeEnvironment(f.dir, abs); err != nil {
		return err
	}
	all.showSites(c, "omits "+f.gone, abs)
	f.showRetired(c, abs)
	for _, r := range stay {
		if _, err := fmt.Fprintln(c.Program.Out, filepath.Join(f.dir, r.id)); err != nil {
			return err
		}
	}
	return nil
}

// showSites says what to do with the yarn-site.xml of the replicas that stay as they are. Replicas warn of
// different files until they have read the new one.
func (all *clusterFiles) showSites(c *verb.Call, change, abs string) {
	c.PrintMessage("The yarn-site.xml of the other replicas %s now: copy it to them, to the nodes and to the clients. Reload the other replicas with \"systemctl reload rmd\" or SIGHUP. Clients use these replicas, as %s says:",
		change, filepath.Join(abs, environmentFile))
	c.PrintMessage("%s", all.environment(abs)[0])
}

func noReplica(dir, id string) error {
	return clierr.Usagef("name one of the replicas in "+dir, "there is no replica %s", id)
}

// removed is added to the name of the rmd.yaml of a replica that left.
const removed = ".removed"

// retire renames the rmd.yaml of the replica that leaves, so that its directory counts as none of a replica.
// It deletes nothing: the replica may still run, and its data may be there.
func (f *replicaFiles) retire() error {
	if f.gone == "" {
		return nil
	}
	file := filepath.Join(f.dir, f.gone, "rmd.yaml")
	return os.Rename(file, file+removed)
}

func (f *replicaFiles) showRetired(c *verb.Call, abs string) {
	if f.gone != "" {
		c.PrintMessage("%-20s rmd.yaml is called rmd.yaml%s now; delete %s when the replica has stopped for good",
			"for "+f.gone+":", removed, filepath.Join(abs, f.gone))
	}
}

// showJoin prints the commands that make the replica a member of the cluster.
func (f *replicaFiles) showJoin(c *verb.Call, all *clusterFiles) {
	member, scheme, port := f.from, "http://", HTTPPort
	if len(f.others) > 0 {
		member = f.others[0]
	}
	if all.tls {
		scheme, port = "https://", httpsPort
	}
	c.PrintMessage("When %s runs, make it a member:", f.to.id)
	c.PrintMessage("(umask 077; rmd cluster token create -q > token)")
	c.PrintMessage("rmd cluster join %s --addr %s --token-file token --wait", member.address(PeerPort),
		scheme+f.to.address(port))
	if f.gone != "" {
		c.PrintMessage("rmd cluster remove %s", f.gone)
	}
}
