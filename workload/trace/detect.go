package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// detect determines the format from the content: the header of a table, or the field names of the
// first JSON object.
func detect(file string, data []byte) (string, error) {
	body := bytes.TrimLeft(data, " \t\r\n")
	if len(body) == 0 {
		return "", &Error{File: file, Line: 1, Column: 1, What: "the file is empty", Expected: "a trace"}
	}
	if body[0] == '{' || body[0] == '[' {
		return detectJSON(file, data)
	}
	line, _, _ := bytes.Cut(body, []byte("\n"))
	first := strings.TrimRight(string(line[:min(len(line), 4096)]), "\r")
	head := strings.Split(first, ",")
	switch {
	case slices.Contains(head, "submit_s"):
		return FormatRMD, nil
	case slices.Contains(head, "num_gpu") && slices.Contains(head, "cpu_milli"):
		return FormatOpenB, nil
	case head[0] == "sn" || head[0] == "node":
		return "", nodeFile(file)
	case strings.Count(first, "\t") == len(swimColumns)-1:
		return FormatSWIM, nil
	}
	return "", unknown(file, "its first line is "+quote(first))
}

// detectJSON reads the field names of the outermost object until one of them determines the format.
func detectJSON(file string, data []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	level, depth := 1, 0 // depth of the outermost objects' fields, one more if the objects are in an array
	key := false         // the next string at level is a field's name
	for first := true; ; first = false {
		tok, err := dec.Token()
		if err != nil {
			return "", unknown(file, "no field in it tells the format")
		}
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '{' || tok == '[' {
				depth++
			} else {
				depth--
			}
			if first && tok == '[' {
				level = 2
			}
		case string:
			if depth == level && key {
				switch f := formatOfField(tok); f {
				case "":
				case "nodes":
					return "", nodeFile(file)
				default:
					return f, nil
				}
				key = false
				continue
			}
		}
		key = depth == level
	}
}

func formatOfField(name string) string {
	switch name {
	case "workloads", "num_jobs", "num_nodes", "rand_seed":
		return FormatSynth
	case "jobID", "mapTasks", "reduceTasks", "submitTime":
		return FormatRumen
	case "nodes", "rack":
		return "nodes"
	}
	if strings.HasPrefix(name, "job.") || strings.HasPrefix(name, "num.") || name == "am.type" ||
		name == "yarn.sls.am.type" {
		return FormatSLS
	}
	return ""
}

func nodeFile(file string) error {
	return fmt.Errorf("%w: %s is a list of nodes; give it as the nodes, beside a trace", ErrUnknownFormat, file)
}

func unknown(file, why string) error {
	return fmt.Errorf("%w: %s: %s; name the format, one of %s", ErrUnknownFormat, file, why,
		strings.Join(Formats()[1:], ", "))
}
