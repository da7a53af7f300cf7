package command

import "github.com/urfave/cli/v2"

// examples are shown in the help and in the manual page of each command. A test checks that their
// usage is correct.
var examples = map[string][]string{
	"dev":    {"rmd dev --open", "rmd dev --replicas 5 --nodes 20 --speed 1000", "rmd dev --data ./cluster --workload none"},
	"server": {"rmd server --config /etc/rmd/rmd.yaml", "rmd server --config rmd.yaml --set raft.heartbeat=500ms --print-config"},
	"init":   {"rmd init --cluster prod --replicas rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13 --tls", "rmd init --id rm1 --cluster prod", "rmd init --dir /etc/rmd --id rm1 --advertise 10.0.0.11:8034 --tls"},
	"replay": {"rmd replay demo --compare no-reservations --report page.html", "rmd replay trace.csv --addr rm1:8088 --speed 60 --yes"},

	"bench heartbeat": {"rmd bench heartbeat --nodes 1000 --addr rm1,rm2,rm3"},
	"bench allocate":  {"rmd bench allocate --conf-dir /etc/hadoop/conf --nodes 500 --masters 50 --duration 1m -o json --yes"},
	"bench latency":   {"rmd bench latency --conf-dir /etc/hadoop/conf"},

	"app submit":     {"rmd app submit --queue root.batch --name nightly", "rmd app submit --queue root.train --am memory=4096,vcores=2 --dry-run"},
	"app list":       {"rmd app list --queue root.train --sort -wait", "rmd app list --all --state FAILED -o wide", "rmd app list --filter user=ann -o name"},
	"app status":     {"rmd app status application_1780000000000_0107", "rmd app status application_1780000000000_0107 -o yaml"},
	"app forecast":   {"rmd app forecast application_1780000000000_0107"},
	"app explain":    {"rmd app explain application_1780000000000_0107", "rmd app explain application_1780000000000_0107 --watch"},
	"app wait":       {"rmd app wait application_1780000000000_0107 --for running --timeout 5m"},
	"app kill":       {"rmd app kill application_1780000000000_0107 --reason \"wrong input\""},
	"app move":       {"rmd app move application_1780000000000_0107 root.adhoc"},
	"app gang":       {"rmd app gang application_1780000000000_0107 priority=1,count=4,rack=one"},
	"app priority":   {"rmd app priority application_1780000000000_0107 5"},
	"app attempts":   {"rmd app attempts application_1780000000000_0107 -o wide"},
	"app containers": {"rmd app containers application_1780000000000_0107 --sort -size"},

	"node list":     {"rmd node list --state RUNNING --sort -used", "rmd node list --filter reserved!=- -o name"},
	"node status":   {"rmd node status sim-03:45454"},
	"node drain":    {"rmd node drain sim-03:45454 --deadline 30m", "rmd node drain sim-03:45454 --undo", "rmd node drain --choose 2 --dry-run"},
	"node forget":   {"rmd node forget sim-03:45454"},
	"label list":    {"rmd label list", "rmd label list -o wide --sort -wait"},
	"label status":  {"rmd label status gpu"},
	"label nodes":   {"rmd label nodes --label gpu"},
	"label add":     {"rmd label add gpu", "rmd label add spot --non-exclusive"},
	"label remove":  {"rmd label remove gpu --dry-run"},
	"label map":     {"rmd label map worker-1=gpu worker-2:8041=gpu", "rmd label map worker-1= --dry-run", "rmd label map --label gpu --file nodes.txt"},
	"node resource": {"rmd node resource sim-03:45454 memory-mb=393216,vcores=96,gpu=8"},

	"queue list":   {"rmd queue list --sort -used", "rmd queue list -o wide"},
	"queue tree":   {"rmd queue tree --watch"},
	"queue status": {"rmd queue status root.train"},
	"queue place":  {"rmd queue place --user ann --groups staff,etl --name nightly", "rmd queue place --user ann --file capacity-scheduler.xml"},
	"queue adopt":  {"rmd queue adopt root.users.ann --dry-run", "rmd queue adopt root.users.ann"},
	"queue stop":   {"rmd queue stop root.adhoc"},
	"queue start":  {"rmd queue start root.adhoc"},

	"reservation list":   {"rmd reservation list --sort -age", "rmd reservation list --queue root.train -o json"},
	"reservation status": {"rmd reservation status r41", "rmd reservation status"},
	"reservation cancel": {"rmd reservation cancel r41 --reason \"node goes to repair\" --yes"},

	"forecast report": {"rmd forecast report", "rmd forecast report -o json"},

	"preempt": {"rmd preempt --dry-run", "rmd preempt --dry-run --watch", "rmd preempt --over 24h", "rmd preempt --over 14:00 --until 15:30 -o json"},

	"shadow start":  {"rmd shadow start capacity-scheduler.xml", "rmd shadow start root.train.capacity=40 root.batch.capacity=10 --behind 1h"},
	"shadow status": {"rmd shadow status"},
	"shadow report": {"rmd shadow report --watch", "rmd shadow report -o json"},
	"shadow stop":   {"rmd shadow stop"},

	"conf get":      {"rmd conf get root.train", "rmd conf get --version 3 -o json", "rmd conf get --xml > queues.xml", "rmd conf get --ignored"},
	"conf set":      {"rmd conf set root.train.capacity=40 root.batch.capacity=10 -m \"more for train\"", "rmd conf set root.batch.maximum-capacity= --dry-run"},
	"conf diff":     {"rmd conf diff capacity-scheduler.xml", "rmd conf diff 3 5", "rmd conf diff --whatif capacity-scheduler.xml"},
	"conf validate": {"rmd conf validate capacity-scheduler.xml", "rmd conf validate /etc/hadoop/conf --online"},
	"conf apply":    {"rmd conf apply capacity-scheduler.xml -m \"ticket 4711\"", "rmd conf apply queues.json --dry-run"},
	"conf refresh":  {"rmd conf refresh --conf-dir /etc/hadoop/conf"},
	"conf history":  {"rmd conf history --limit 10"},
	"conf rollback": {"rmd conf rollback 3 -m \"back to Friday\""},

	"top":    {"rmd top", "rmd top --by node --sort -used", "rmd top --by queue --count 1 > queues.txt"},
	"events": {"rmd events --follow --app application_1780000000000_0107", "rmd events --since 10m --kind ReservationMade -o jsonl", "rmd events --follow --queue root.train --since 15:00"},

	"cluster status":       {"rmd cluster status", "rmd cluster status --watch -o wide"},
	"cluster init":         {"rmd cluster init --addr rm1:8088 --queues capacity-scheduler.xml"},
	"cluster token create": {"(umask 077; rmd cluster token create --ttl 1h > token)"},
	"cluster join":         {"rmd cluster join 10.0.0.11:8034 --token-file token --addr rm4:8088"},
	"cluster members":      {"rmd cluster members -o json"},
	"cluster promote":      {"rmd cluster promote rm4"},
	"cluster demote":       {"rmd cluster demote rm4"},
	"cluster remove":       {"rmd cluster remove rm4 --dry-run", "rmd cluster remove rm4 --yes"},
	"cluster transfer":     {"rmd cluster transfer", "rmd cluster transfer rm2"},
	"cluster health":       {"rmd cluster health --quiet || echo look at it"},
	"cluster verify":       {"rmd cluster verify"},

	"access token create":       {"(umask 077; rmd access token create --name ci --role submit --ttl 24h > token)"},
	"access token list":         {"rmd access token list"},
	"access token revoke":       {"rmd access token revoke ci"},
	"access certificate create": {"rmd access certificate create --name ann --role operator --dir /etc/rmd"},
	"access certificate revoke": {"rmd access certificate revoke --dir /etc/rmd ann.pem"},
	"access certificate list":   {"rmd access certificate list --dir /etc/rmd"},
	"access whoami":             {"rmd access whoami -o json"},

	"autopilot get":    {"rmd autopilot get"},
	"autopilot set":    {"rmd autopilot set min_quorum=3"},
	"autopilot state":  {"rmd autopilot state -o json"},
	"snapshot save":    {"rmd snapshot save state.snap"},
	"snapshot inspect": {"rmd snapshot inspect state.snap"},
	"snapshot restore": {"rmd snapshot restore state.snap --dry-run"},
	"snapshot list":    {"rmd snapshot list --addr rm2:8088"},
	"upgrade status":   {"rmd upgrade status"},
	"upgrade finalize": {"rmd upgrade finalize"},
	"log show":         {"rmd log show --count 5 --events", "rmd log show --from 184000 --follow"},
	"audit tail":       {"rmd audit tail --who alice --action kill --since 24h", "rmd audit tail --follow -o jsonl"},
	"metrics":          {"rmd metrics raft", "rmd metrics --addr rm2:8088"},

	"check":      {"rmd check --data /var/lib/rmd"},
	"recover":    {"rmd recover --data /var/lib/rmd --peers peers.json --without rm2,rm3 --dry-run"},
	"import zk":  {"rmd import zk --config /etc/rmd/rmd.yaml --dry-run"},
	"version":    {"rmd version -o json"},
	"completion": {"rmd completion bash > /etc/bash_completion.d/rmd"},
}

// addExamples adds the examples to the usage text of each command, because the library has no field
// for them.
func addExamples(commands []*cli.Command, path string) {
	for _, c := range commands {
		here := path + c.Name
		if lines := examples[here]; len(lines) > 0 {
			c.UsageText = "   " + lines[0]
			for _, l := range lines[1:] {
				c.UsageText += "\n   " + l
			}
		}
		addExamples(c.Subcommands, here+" ")
	}
}
