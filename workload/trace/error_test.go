package trace

import (
	"errors"
	"strings"
	"testing"
)

const rmdHead = "submit_s,app,user,queue,priority,containers,memory_mb,vcores,gpus,duration_s\n"

// TestErrorsNameThePlace checks that every error message names the place of the fault.
func TestErrorsNameThePlace(t *testing.T) {
	cases := []struct{ name, format, data, want string }{
		{"not a number", FormatRMD, rmdHead + "0,a,u,root.q,0,1,1024,1,0,5\n0,b,u,root.q,0,1,lots,1,0,5\n",
			`f:3:18: memory_mb: "lots" is not a whole number; expected MiB per container, a whole number from 0 to 1073741824`},
		{"out of range", FormatRMD, rmdHead + "0,a,u,root.q,0,0,1024,1,0,5\n",
			"f:2:16: containers: 0 is out of range; expected number of containers"},
		{"negative time", FormatRMD, rmdHead + "-1,a,u,root.q,0,1,1024,1,0,5\n", "f:2:1: submit_s: -1 is out of range"},
		{"no run time", FormatRMD, rmdHead + "0,a,u,root.q,0,1,1024,1,0,0\n", "f:2:27: duration_s: 0 is no run time"},
		{"empty name", FormatRMD, rmdHead + "0,,u,root.q,0,1,1024,1,0,5\n", "f:2:3: app: empty; expected a name"},
		{"bad queue", FormatRMD, rmdHead + "0,a,u,root..q,0,1,1024,1,0,5\n", `f:2:7: queue: "root..q" is not a queue path`},
		{"fields", FormatRMD, rmdHead + "0,a,u\n", "f:2:1: 3 fields in this line; expected 10: submit_s,"},
		{"unknown column", FormatRMD, "submit_s,color\n", "f:1:10: color: unknown column; expected columns submit_s"},
		{"missing column", FormatRMD, "submit_s,app\n", "f:1:1: user: column missing in the header"},
		{"quotes", FormatRMD, rmdHead + "0,\"a,u\n", "f:2:"},
		{"empty", FormatRMD, "", "f:1:1: the file is empty"},
		{"header only", FormatRMD, rmdHead, "no job in it that could be replayed"},
		{"openb half the times", FormatOpenB, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos\n",
			"f:1:1: gpu_spec: column missing"},
		{"openb number", FormatOpenB, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,x,4\n",
			`f:2:7: num_gpu: "x" is not a whole number`},
		{"swim fields", FormatSWIM, "job0\t1\t1\t1\t1\n", "f:1:1: 5 fields in this line; expected 6"},
		{"swim bytes", FormatSWIM, "job0\t1\t1\t1\t1\t1\njob1\t1\t1\t1\t-5\t1\n",
			"f:2:12: shuffle_bytes: -5 is out of range"},
		{"json syntax", FormatSLS, "{\"job.tasks\": [\n  {\"count\": 1,\n   oops}]}", "f:3:4: invalid character 'o'"},
		{"json cut off", FormatSLS, "{\"job.id\":\n \"a\"", "f:2:5: the file ends inside a value"},
		{"json no object", FormatRumen,
			"{\"jobID\":\"a\",\"submitTime\":1,\"mapTasks\":[{\"attempts\":[{\"startTime\":1,\"finishTime\":3}]}]}\n 7",
			"f:2:2: 7 stands alone; expected an object"},
		{"sls no tasks", FormatSLS, "{\"job.id\": \"a\",\n \"job.tasks\": []}", "f:2:15: job.tasks: no task in the job"},
		{"sls field", FormatSLS, "{\"job.tasks\": [{\"duration.ms\": 5},\n {\"duration.ms\": \"soon\"}]}",
			`f:2:18: job.tasks[1].duration.ms: "soon" is not a whole number`},
		{"sls no time", FormatSLS, "\n{\"job.tasks\": [{\"count\": 5}]}",
			"f:2:16: job.tasks[0].container.end.ms: the task has no run time; expected duration.ms"},
		{"sls backwards", FormatSLS, `{"job.tasks": [{"container.start.ms": 9, "container.end.ms": 9}]}`,
			"container.end.ms: the task ends when or before it starts"},
		{"sls host", FormatSLS, `{"job.tasks": [{"duration.ms": 9, "container.host": "/r/\u0007"}]}`,
			"job.tasks[0].container.host: \"/r/\\a\" has characters that do not print"},
		{"rumen time", FormatRumen, `{"jobID": "a"}`, "f:1:1: submitTime: the job has no time of submission"},
		{"rumen priority", FormatRumen, `{"jobID": "a", "submitTime": 1, "priority": "URGENT"}`,
			`f:1:45: priority: "URGENT" is not a whole number`},
		{"synth workloads", FormatSynth, `{"num_jobs": 1}`, "f:1:1: workloads: no workload"},
		{"synth sample",
			FormatSynth, `{"num_jobs": 1, "workloads": [{"queue_name": "q", "time_distribution": [{"time": 1, "weight": 1}],
 "job_classes": [{"tasks": [{"count": 5}]}]}]}`, "f:2:39: workloads[0].job_classes[0].tasks[0].count: 5; expected {\"val\": N}"},
		{"depth", FormatSLS, strings.Repeat("[", 70), "nested too deeply"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := decode("f", []byte(c.data), nil, Options{Format: c.format}, defaultBounds)
			if err == nil || !strings.HasPrefix(err.Error(), "f:") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("\n got %v\nwant %v", err, c.want)
			}
			if !errors.Is(err, ErrBadTrace) {
				t.Errorf("%v is no ErrBadTrace", err)
			}
		})
	}
}

func TestNodeErrorsNameThePlace(t *testing.T) {
	cases := []struct{ data, want string }{
		{"node,rack,memory_mb,vcores,gpus,labels\na,/r,1024,4,0,\na,/r,1024,4,0,\n", `f:3:1: node: "a" named twice`},
		{"node,rack,memory_mb,vcores,gpus,labels\na,/r,0,4,0,\n", "f:2:6: memory_mb: 0 is out of range"},
		{"node,rack,memory_mb,vcores,gpus\n", "no node in it"},
		{"sn,cpu_milli,memory_mib,gpu,model\nn,500,1,0,\n", "f:2:3: cpu_milli: 500 is out of range"},
		{"{\"rack\": \"r\",\n\"nodes\": [{\"node\": \"a\"}, {\"node\": \"a\"}]}", `f:2:35: nodes[1].node: "a" named twice`},
		{"{\"rack\": \"r\"}", "f:1:1: nodes: no node in the rack"},
		{"", "f:1:1: the file is empty"},
	}
	for _, c := range cases {
		if _, err := decodeNodes("f", []byte(c.data), false); err == nil || !strings.Contains(err.Error(), c.want) ||
			!errors.Is(err, ErrBadTrace) {
			t.Errorf("\n got %v\nwant %v", err, c.want)
		}
	}
}

func TestDetect(t *testing.T) {
	for data, want := range map[string]string{
		rmdHead: FormatRMD,
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli\n":                     FormatOpenB,
		"job0\t1\t1\t1\t1\t1\n":                                             FormatSWIM,
		`{"priority": "NORMAL", "jobID": 1}`:                                FormatRumen,
		`{"x": ["nodes", {"workloads": 1}], "y": "workloads", "job.id": 1}`: FormatSLS,
		`[{"am.type": "x"}]`:                                                FormatSLS,
		`{"description": "rack", "num_jobs": 1}`:                            FormatSynth,
	} {
		if got, err := detect("f", []byte(data)); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", data, got, err, want)
		}
	}
	for data, want := range map[string]string{
		`{"rack": "r", "nodes": []}`: "list of nodes",
		"sn,cpu_milli\n":             "list of nodes",
		"hello world\n":              "its first line is",
		`{"a": 1}`:                   "no field in it",
	} {
		if _, err := detect("f", []byte(data)); !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q", data, err, want)
		}
	}
}

// TestBounds checks that a wrong count in a small file does not use much memory.
func TestBounds(t *testing.T) {
	few := bounds{jobs: 10, tasks: 100}
	for data, want := range map[string]string{
		`{"job.tasks": [{"duration.ms": 5, "count": 101}]}`:                       "too many tasks",
		`{"job.count": 11, "job.tasks": [{"duration.ms": 5}]}`:                    "too many jobs",
		`{"num_jobs": 11, "workloads": [{"queue_name": "q"}]}`:                    "no job class",
		strings.Replace(readFile(t, "synth.json"), `"val": 5,`, `"val": 500,`, 1): "50 jobs",
	} {
		if _, err := decode("f", []byte(data), nil, Options{}, few); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	many := strings.Replace(readFile(t, "synth.json"), `"val": 5,`, `"val": 500,`, 1)
	if _, err := decode("f", []byte(many), nil, Options{}, bounds{jobs: 50, tasks: 100}); err == nil ||
		!strings.Contains(err.Error(), "too many tasks") {
		t.Errorf("decode of 50 jobs with a bound of 100 tasks: %v, want \"too many tasks\"", err)
	}
}
