package proto_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	protobuf "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"rmd/transport/hadoop/admin"
	"rmd/transport/hadoop/client"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/master"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/tracker"
)

var record = flag.String("record", "",
	"write the protocols of a release of Hadoop to testdata, from a file x.y.z with the output of interop/descriptors")

// releases is the folder of one file for each release of Hadoop. A line is a field, a value of an
// enum, or a method.
const releases = "testdata/releases"

// roots are the messages that no method has and that are on the wire or in a state store all the
// same: headers, tokens, records.
var roots = []string{
	"RpcRequestHeaderProto", "RpcResponseHeaderProto", "RpcSaslProto", "IpcConnectionContextProto", "RequestHeaderProto",
	"CredentialsProto", "TokenProto",
	"NMTokenIdentifierProto", "AMRMTokenIdentifierProto", "ContainerTokenIdentifierProto",
	"ClientToAMTokenIdentifierProto", "YARNDelegationTokenIdentifierProto",
	"ApplicationStateDataProto", "ApplicationAttemptStateDataProto", "EpochProto", "AMRMTokenSecretManagerStateProto",
	"RMDelegationTokenIdentifierDataProto",
	"VersionProto", "MasterKeyProto",
}

// called are the methods that rmd calls. It serves the other services.
var called = map[string][]string{"ContainerManagementProtocolService": {"startContainers", "stopContainers"}}

// protocols renders messages and services as lines. It works on the plain form of descriptors: Hadoop
// has values of two enums with one name in one package, which Java allows and Go refuses.
type protocols struct {
	messages map[string]*descriptorpb.DescriptorProto // by name without its package
	enums    map[string]*descriptorpb.EnumDescriptorProto
	services []*descriptorpb.ServiceDescriptorProto
	pkgs     []string
	seen     map[string]bool
	lines    []string
}

func index(files []*descriptorpb.FileDescriptorProto) *protocols {
	p := &protocols{messages: map[string]*descriptorpb.DescriptorProto{},
		enums: map[string]*descriptorpb.EnumDescriptorProto{}, seen: map[string]bool{}}
	for _, f := range files {
		p.pkgs = append(p.pkgs, "."+f.GetPackage()+".")
		p.services = append(p.services, f.GetService()...)
		p.types("", f.GetMessageType(), f.GetEnumType())
	}
	return p
}

func (p *protocols) types(outer string, messages []*descriptorpb.DescriptorProto,
	enums []*descriptorpb.EnumDescriptorProto) {
	for _, e := range enums {
		p.enums[outer+e.GetName()] = e
	}
	for _, m := range messages {
		name := outer + m.GetName()
		p.messages[name] = m
		p.types(name+".", m.GetNestedType(), m.GetEnumType())
	}
}

// short returns the name of a type without its package.
func (p *protocols) short(name string) string {
	for _, pkg := range p.pkgs {
		if rest, ok := strings.CutPrefix(name, pkg); ok && (p.messages[rest] != nil || p.enums[rest] != nil) {
			return rest
		}
	}
	return name
}

func (p *protocols) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// message adds a message or an enum, and all that its fields have.
func (p *protocols) message(name string) {
	if p.seen[name] {
		return
	}
	p.seen[name] = true
	for _, v := range p.enums[name].GetValue() {
		p.add("%s %d value %s", name, v.GetNumber(), v.GetName())
	}
	for _, f := range p.messages[name].GetField() {
		kind := strings.ToLower(strings.TrimPrefix(f.GetType().String(), "TYPE_"))
		if f.TypeName != nil {
			kind = p.short(f.GetTypeName())
			p.message(kind)
		}
		label := strings.ToLower(strings.TrimPrefix(f.GetLabel().String(), "LABEL_"))
		p.add("%s %d %s %s %s%s", name, f.GetNumber(), label, kind, f.GetName(), p.absent(kind, f.GetDefaultValue()))
	}
}

// absent returns the value of an absent field, unless it is the one that every such field has.
func (p *protocols) absent(kind, def string) string {
	if values := p.enums[kind].GetValue(); def == "" || def == "0" || def == "false" ||
		len(values) > 0 && def == values[0].GetName() {
		return ""
	}
	if kind == "string" {
		def = strconv.Quote(def)
	}
	return " = " + def
}

func (p *protocols) service(s *descriptorpb.ServiceDescriptorProto) {
	only := called[s.GetName()]
	for _, m := range s.GetMethod() {
		if only != nil && !slices.Contains(only, m.GetName()) {
			continue
		}
		in, out := p.short(m.GetInputType()), p.short(m.GetOutputType())
		p.message(in)
		p.message(out)
		p.add("%s method %s %s %s", s.GetName(), m.GetName(), in, out)
	}
}

// TestRecordRelease writes the file of the release that -record names.
func TestRecordRelease(t *testing.T) {
	if *record == "" {
		t.Skip("make descriptors HADOOP=x runs it")
	}
	text, err := os.ReadFile(*record)
	if err != nil {
		t.Fatal(err)
	}
	var files []*descriptorpb.FileDescriptorProto
	for line := range strings.Lines(string(text)) {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		f := new(descriptorpb.FileDescriptorProto)
		if err := protobuf.Unmarshal(b, f); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p := index(files)
	for _, s := range p.services {
		p.service(s)
	}
	for _, name := range roots {
		p.message(name)
	}
	slices.Sort(p.lines)
	if err := os.WriteFile(filepath.Join(releases, filepath.Base(*record)+".txt"),
		[]byte(strings.Join(p.lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ours returns all lines of rmd's own messages and methods.
func ours(t *testing.T) map[string]bool {
	t.Helper()
	var files []*descriptorpb.FileDescriptorProto
	protoregistry.GlobalFiles.RangeFilesByPackage("rmd.hadoop", func(f protoreflect.FileDescriptor) bool {
		files = append(files, protodesc.ToFileDescriptorProto(f))
		return true
	})
	p := index(files)
	for name := range p.messages {
		p.message(name)
	}
	have := map[string]bool{}
	for _, line := range p.lines {
		have[line] = true
	}
	return have
}

// served returns the names of the methods that rmd serves, by service.
func served() map[string]map[string]ipc.Method {
	out := map[string]map[string]ipc.Method{}
	for _, p := range append(new(admin.Service).Protocols(), new(client.Service).Protocol(),
		new(master.Service).Protocol(), new(tracker.Service).Protocol()) {
		name := strings.TrimSuffix(p.Name[strings.LastIndexByte(p.Name, '.')+1:], "PB")
		out[name+"Service"] = p.Methods
	}
	return out
}

var _ = proto.File_yarn_proto // registers the messages

// leftOut are the lines of releases that rmd does without, as regular expressions with the reason.
var leftOut = map[string]string{
	`^AllocateRequestProto 6 .* increase_request$`:                                           "2.10 alone has it, and an update request beside it. Since 3.0 a ResourceManager passes it over",
	`^AllocateResponseProto 1[01] .* (in|de)creased_containers$`:                             "2.10 alone reads it, and the updated containers beside it. A ResourceManager since 3.0 does not send it",
	`^ContainerResource(Increase|Decrease|IncreaseRequest)Proto `:                            "only in the fields above",
	`^ResourceRequestProto 8 optional int64 allocation_request_id$`:                          "absent is 0 in 2.10, and -1 since 3.0, which is what a ResourceManager of 3.x makes of it",
	`^RpcRequestHeaderProto 10 optional bytes authorizationHeader$`:                          "nothing in YARN reads it. It is passed over",
	`^Reservation[A-Za-z]*Proto `:                                                            "of YARN's reservation system, which is off: its calls are refused without a look at their fields",
	`^(GetNewReservationResponse|ResourceAllocationRequest)Proto `:                           "of YARN's reservation system",
	`^(Federation|DeleteFederation|QueryFederation|SaveFederation|BatchSave)[A-Za-z]*Proto `: "of YARN's federation, whose calls are not served",
	`^(DeregisterSubClusters?|GetSubClusters)[A-Za-z]*Proto `:                                "of YARN's federation",
	`^ResourceManagerAdministrationProtocolService method (deregisterSubCluster|saveFederationQueuePolicy|batchSaveFederationQueuePolicies|listFederationQueuePolicies|deleteFederationApplication|getFederationSubClusters|deleteFederationPoliciesByQueues) `: "of YARN's federation, which only a Router serves",
	`^ApplicationStateDataProto (8|11) `:                         "of a state store: the context of the caller and the real user, which no application of rmd has",
	`^ApplicationAttemptStateDataProto 1[3467] `:                 "of a state store: figures about attempts that have ended, which an import leaves behind",
	`^Application(StateDataProto 5|AttemptStateDataProto [48]) `: "of a state store: a number in ours, so that a number that this build does not know is seen",
	`^RMApp(Attempt)?StateProto `:                                "the values of these numbers",
}

// TestReleases checks that every field, value and method of the recorded releases is in our messages
// and services, with the same number, type, label and default, or else in leftOut.
func TestReleases(t *testing.T) {
	have, methods := ours(t), served()
	has := func(line string) bool {
		w := strings.Fields(line)
		switch w[1] {
		case "method":
			_, ok := methods[w[0]][w[2]]
			return ok || slices.Contains(called[w[0]], w[2])
		default:
			return have[line] || have[prefixed(line)]
		}
	}
	files, err := filepath.Glob(releases + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no releases in %s: %v", releases, err)
	}
	used := map[string]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			if has(line) {
				continue
			}
			if row := matching(line); row != "" {
				used[row] = true
				continue
			}
			t.Errorf("%s: %q is neither in our messages and services nor in leftOut", filepath.Base(file), line)
		}
	}
	for row := range leftOut {
		if !used[row] {
			t.Errorf("no release needs the row %q of leftOut", row)
		}
	}
}

// rows are the expressions of leftOut.
var rows = func() (all []*regexp.Regexp) {
	for row := range leftOut {
		all = append(all, regexp.MustCompile(row))
	}
	return all
}()

// matching returns the row of leftOut for a line, or "".
func matching(line string) string {
	if i := slices.IndexFunc(rows, func(r *regexp.Regexp) bool { return r.MatchString(line) }); i >= 0 {
		return rows[i].String()
	}
	return ""
}

var hump = regexp.MustCompile(`([a-z])([A-Z])`)

// prefixed returns the line of an enum's value as ours is named where Hadoop has the same name in two
// enums: NodeActionProto's NORMAL is NODE_ACTION_NORMAL.
func prefixed(line string) string {
	w := strings.Fields(line)
	words := hump.ReplaceAllString(strings.TrimSuffix(w[0], "Proto"), "${1}_$2")
	w[len(w)-1] = strings.ToUpper(words) + "_" + w[len(w)-1]
	return strings.Join(w, " ")
}
