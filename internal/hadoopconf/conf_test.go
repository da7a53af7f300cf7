package hadoopconf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file in the test's directory.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// options returns the default options with a fixed environment.
func options(env map[string]string) Options {
	o := DefaultOptions()
	o.Env = func(n string) (string, bool) { v, ok := env[n]; return v, ok }
	return o
}

func value(t testing.TB, c *Config, name string) string {
	t.Helper()
	p, ok := c.Get(name)
	if !ok {
		t.Fatalf("%s is absent", name)
	}
	return p.Value
}

func TestLaterFileWinsUnlessFinal(t *testing.T) {
	dir := t.TempDir()
	first := put(t, dir, "core-site.xml", `<?xml version="1.0"?>
<!-- a comment -->
<configuration>
  <property>
    <name> a </name>
    <value>1</value>
    <description>ignored &amp; unread</description>
  </property>
  <property><name>b</name><value>1</value><final>true</final></property>
  <property name="c" value="attr" final="TRUE"/>
</configuration>`)
	second := put(t, dir, "yarn-site.xml", `<configuration>
<property><name>a</name><value>2</value></property>
<property><name>b</name><value>2</value></property>
<property><name>acl</name><value> g1,g2</value></property>
</configuration>`)
	c, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := c.Get("a")
	if a.Value != "2" || a.Origin() != second+":2" {
		t.Errorf("a = %+v", a)
	}
	b, _ := c.Get("b")
	if b.Value != "1" || b.Origin() != first+":9" || !b.Final {
		t.Errorf("b = %+v", b)
	}
	if p, _ := c.Get("c"); p.Value != "attr" || !p.Final {
		t.Errorf("c = %+v", p)
	}
	if v := value(t, c, "acl"); v != " g1,g2" {
		t.Errorf("the blank of an access list is lost: %q", v)
	}
	if w := c.Warnings(); len(w) != 1 || w[0].String() != second+":3: b is final in "+first+
		":9; this value has no effect" {
		t.Errorf("warnings %v", w)
	}
	if names := c.Properties(); len(names) != 4 || names[0].Name != "a" || names[3].Name != "c" {
		t.Errorf("properties %v", names)
	}
}

func TestSubstitution(t *testing.T) {
	doc := `<configuration>
<property><name>host</name><value>rm1</value></property>
<property><name>port</name><value>8032</value></property>
<property><name>address</name><value>${host}:${port}</value></property>
<property><name>deep</name><value>[${address}] [${address}]</value></property>
<property><name>which</name><value>st</value></property>
<property><name>nested</name><value>${ho${which}}</value></property>
<property><name>unknown</name><value>a ${nope} b ${host}</value></property>
<property><name>default</name><value>${nope:-x y}${host:-no}</value></property>
<property><name>default2</name><value>${nope:-xy}${host:-no}</value></property>
<property><name>env</name><value>${env.DIR}/${env.NOPE-d1}/${env.NOPE:-d2}/${env.EMPTY:-d3}</value></property>
<property><name>user</name><value>/tmp/hadoop-${user.name}</value></property>
<property><name>self</name><value>x${self}</value></property>
<property><name>loop1</name><value>1${loop2}</value></property>
<property><name>loop2</name><value>2${loop1}</value></property>
<property><name>open</name><value>${host</value></property>
</configuration>`
	c, err := options(map[string]string{"DIR": "/etc", "EMPTY": "", "USER": "yarn"}).Parse(strings.NewReader(doc), "x.xml")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"address": "rm1:8032", "deep": "[rm1:8032] [rm1:8032]", "nested": "rm1",
		"unknown": "a ${nope} b rm1", "default": "${nope:-x y}rm1", "default2": "xyrm1",
		"env": "/etc/d1/d2/d3", "user": "/tmp/hadoop-yarn", "self": "x${self}",
		"loop1": "12${loop1}", "loop2": "21${loop2}", "open": "${host",
	} {
		if got := value(t, c, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestSubstitutionIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("<configuration><property><name>x0</name><value>0123456789</value></property>")
	for i := 1; i < 30; i++ {
		n, p := string(rune('a'+i)), "x0"
		if i > 1 {
			p = string(rune('a' + i - 1))
		}
		b.WriteString("<property><name>" + n + "</name><value>${" + p + "}${" + p + "}</value></property>")
	}
	b.WriteString("</configuration>")
	_, err := Parse(strings.NewReader(b.String()), "bomb.xml")
	if err == nil || !strings.Contains(err.Error(), "bomb.xml:1: ") || !strings.Contains(err.Error(), "more than 100") {
		t.Fatalf("err = %v", err)
	}
}

func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	top := put(t, dir, "top.xml", `<configuration xmlns:xi="http://www.w3.org/2001/XInclude">
<property><name>a</name><value>top</value></property>
<xi:include href="sub/one.xml"/>
<xi:include href="absent.xml"><xi:fallback><property><name>f</name><value>fallback</value></property></xi:fallback></xi:include>
<xi:include href="sub/one.xml"><xi:fallback><property><name>f</name><value>wrong</value></property></xi:fallback></xi:include>
<property><name>b</name><value>top</value></property>
</configuration>`)
	one := put(t, dir, "sub/one.xml", `<configuration><property><name>a</name><value>one</value></property>
<property><name>b</name><value>one</value></property><include href="two.xml"/></configuration>`)
	put(t, dir, "sub/two.xml", `<configuration><property><name>two</name><value>2</value></property></configuration>`)
	c, err := Read(top)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "one", "b": "top", "f": "fallback", "two": "2"} {
		if got := value(t, c, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if a, _ := c.Get("a"); a.Origin() != one+":1" {
		t.Errorf("origin of an included property: %s", a.Origin())
	}
	if n := len(c.Files()); n != 5 {
		t.Errorf("%d files read, want 5: %v", n, c.Files())
	}
}

func TestFaultsAreListedTogether(t *testing.T) {
	dir := t.TempDir()
	loop := put(t, dir, "loop.xml",
		"<configuration>\n<xi:include href=\"loop.xml\"/>\n<xi:include href=\"gone.xml\"/>\n<xi:include href=\"http://x/y.xml\"/>\n</configuration>")
	noname := put(t, dir, "noname.xml", "<configuration>\n\n<property><value>1</value></property>\n</configuration>")
	broken := put(t, dir, "broken.xml", "<configuration>\n<property>\n<name>x</nme>\n</property></configuration>")
	top := put(t, dir, "top.xml", "<settings/>")
	empty := put(t, dir, "empty.xml", "")
	cut := put(t, dir, "cut.xml", "<configuration><property>")
	before := put(t, dir, "before.xml", "\n<<<<<<< HEAD\n<configuration/>")
	ahead := put(t, dir, "ahead.xml", "\nTODO <configuration/>")
	after := put(t, dir, "after.xml", "<configuration/>\n<!-- a comment -->\n</property>")
	text := put(t, dir, "text.xml", "<configuration/>\n queues=a\n")
	absent := filepath.Join(dir, "absent.xml")
	_, err := Read(loop, noname, broken, top, empty, cut, before, ahead, after, text, absent)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("err = %v", err)
	}
	want := []string{
		loop + `:2: xi:include of "loop.xml": the file includes itself`,
		loop + `:3: xi:include of "gone.xml": no such file, and no fallback`,
		loop + `:4: xi:include of "http://x/y.xml": only files can be included`,
		noname + ":3: a property has no name",
		broken + ":3: element <name> closed by </nme>",
		top + ":1: the top element is <settings>, not one <configuration>",
		empty + ":1: there is no <configuration>",
		cut + ":1: unexpected EOF",
		before + ":2: expected element name after <",
		ahead + `:2: there is text outside of <configuration>: "TODO"`,
		after + ":3: unexpected end element </property>",
		text + `:2: there is text outside of <configuration>: "queues=a"`,
		absent + ": no such file or directory",
	}
	for i, f := range e.Faults {
		if i >= len(want) || f.String() != want[i] {
			t.Errorf("fault %d: %s", i, f)
		}
	}
	if len(e.Faults) != len(want) {
		t.Errorf("%d faults, want %d", len(e.Faults), len(want))
	}
	if !strings.HasPrefix(err.Error(), "read hadoop configuration: 13 faults\n  ") {
		t.Errorf("text: %s", err)
	}
}

func TestParseRefusesIncludes(t *testing.T) {
	secret := put(t, t.TempDir(), "secret.xml", "<configuration/>")
	_, err := Parse(strings.NewReader(`<configuration><include href="`+secret+`"/></configuration>`), "upload")
	if err == nil || !strings.Contains(err.Error(), "upload:1: xi:include is not allowed here") {
		t.Fatalf("err = %v", err)
	}
}

func TestBounds(t *testing.T) {
	o := options(nil)
	o.MaxFileBytes, o.MaxProperties, o.MaxNameBytes, o.MaxValueBytes = 1000, 2, 5, 7
	prop := func(n, v string) string {
		return "<property><name>" + n + "</name><value>" + v + "</value></property>"
	}
	for _, tc := range []struct{ body, want string }{
		{prop("a", "1") + prop("b", "2") + prop("a", "3"), ""},
		{prop("a", "1") + prop("b", "2") + prop("c", "3") + prop("d", "4"), "x:1: more than 2 properties"},
		{prop("toolong", "1"), "x:1: a name is longer than 5 bytes"},
		{prop("a", "12345678"), "x:1: a: the value is longer than 7 bytes"},
		{prop("a", "${b}${b}") + prop("b", "1"), "x:1: a: the value is longer than 7 bytes"},
		{strings.Repeat(" ", 1000), "x: the file is larger than 1000 bytes"},
		{strings.Repeat("<configuration>", 20), "x:1: <configuration> is nested too deep"},
	} {
		_, err := o.Parse(strings.NewReader("<configuration>"+tc.body+"</configuration>"), "x")
		switch {
		case tc.want == "" && err != nil, tc.want != "" &&
			(err == nil || err.Error() != "read hadoop configuration: "+tc.want):
			t.Errorf("%.40s: %v, want %q", tc.body, err, tc.want)
		}
	}
}

func TestOptionsAreValidated(t *testing.T) {
	o := DefaultOptions()
	o.MaxFiles = 0
	if _, err := o.Read(); err == nil {
		t.Error("a bound of 0 was taken")
	}
	if _, err := (Options{}).Parse(strings.NewReader(""), "x"); err == nil {
		t.Error("options without Env were taken")
	}
}

func TestEncodings(t *testing.T) {
	latin := "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><configuration><property><name>a</name><value>caf\xe9</value></property></configuration>"
	c, err := Parse(strings.NewReader(latin), "x")
	if err != nil {
		t.Fatal(err)
	}
	if v := value(t, c, "a"); v != "café" {
		t.Errorf("a = %q", v)
	}
	_, err = Parse(strings.NewReader(`<?xml version="1.0" encoding="utf-16"?><configuration/>`), "x")
	if err == nil || !strings.Contains(err.Error(), "save the file as UTF-8") {
		t.Errorf("utf-16: %v", err)
	}
}

func TestReadDirWithoutFiles(t *testing.T) {
	c, err := ReadDir(t.TempDir())
	if err != nil || len(c.Properties()) != 0 {
		t.Errorf("ReadDir of an empty directory = %v, %v; want no properties and no error", c, err)
	}
	if _, err := ReadDir(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a missing directory was taken")
	}
}

func TestWriteReadsBack(t *testing.T) {
	props := []Property{
		{Name: "a", Value: " <&>\"' ${a.b} é\n\t"},
		{Name: "b", Value: "", Final: true},
		{Name: "c", Raw: "${x}", Value: "expanded"},
	}
	var b strings.Builder
	if err := Write(&b, props); err != nil {
		t.Fatal(err)
	}
	c, err := Parse(strings.NewReader(b.String()), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range props {
		got, _ := c.Get(p.Name)
		if got.Raw != p.text() || got.Final != p.Final {
			t.Errorf("after Write and Parse, %s is %+v, want Raw %q, Final %v", p.Name, got, p.text(), p.Final)
		}
	}
	for _, bad := range []Property{{Name: ""}, {Name: " a"}, {Name: "a", Value: "\x00"}, {Name: "a", Value: "\xff"}} {
		if err := Write(&b, []Property{bad}); err == nil {
			t.Errorf("%+v was written", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("<configuration><property><name>a</name><value>${b}${env.X-y}</value><final>true</final></property></configuration>")
	f.Add(`<configuration><property name="a" value="b"/><xi:include href="x"><xi:fallback/></xi:include></configuration>`)
	f.Add("<?xml version=\"1.0\" encoding=\"latin1\"?><configuration>\xe9</configuration>")
	f.Fuzz(func(t *testing.T, doc string) {
		o := options(map[string]string{"X": "v"})
		o.MaxFileBytes = 1 << 16
		c, err := o.Parse(strings.NewReader(doc), "f")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || len(e.Faults) == 0 {
				t.Fatalf("an error without faults: %v", err)
			}
			return
		}
		props := c.Properties()
		var b strings.Builder
		if err := Write(&b, props); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		o.MaxFileBytes = 1 << 20
		back, err := o.Parse(strings.NewReader(b.String()), "g")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range props {
			if q, ok := back.Get(p.Name); !ok || q.Raw != p.Raw || q.Value != p.Value || q.Final != p.Final {
				t.Fatalf("%q: %+v came back as %+v", p.Name, p, q)
			}
		}
	})
}
