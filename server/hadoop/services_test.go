package hadoop

import (
	"strings"
	"testing"

	"rmd/config"
	"rmd/internal/hadoopconf"
)

// TestWebURL checks that tracking URLs have a scheme and an address that clients can open. They are
// empty if no pages are served.
func TestWebURL(t *testing.T) {
	const plainKey, secureKey, policy = "yarn.resourcemanager.webapp.address", "yarn.resourcemanager.webapp.https.address",
		"yarn.http.policy"
	for _, c := range []struct {
		what, plain, secure string
		keys                []string // alternating names and values
		want                string
	}{
		{what: "an address of one interface", plain: "10.0.0.11:8088", want: "http://10.0.0.11:8088"},
		{what: "all addresses", plain: "[::]:8088", want: "http://rm1.example:8088"},
		{what: "the configured address", plain: "[::]:8088", keys: []string{plainKey, "web:80"}, want: "http://web:80"},
		{what: "the address of this replica", plain: "[::]:8088",
			keys: []string{plainKey, "web:80", plainKey + ".rm1", "web1:80"}, want: "http://web1:80"},
		{what: "all addresses in Hadoop's files", plain: "[::]:8088", keys: []string{plainKey, "0.0.0.0:8088"},
			want: "http://rm1.example:8088"},
		{what: "an unknown variable", plain: "[::]:8088", keys: []string{plainKey, "${host}:80"},
			want: "http://rm1.example:8088"},
		{what: "TLS only", secure: "0.0.0.0:8090", keys: []string{plainKey, "web:80"}, want: "https://rm1.example:8090"},
		{what: "TLS only, configured", secure: "0.0.0.0:8090", keys: []string{secureKey + ".rm1", "web:443"},
			want: "https://web:443"},
		{what: "both", plain: "[::]:8088", secure: "[::]:8090", want: "http://rm1.example:8088"},
		{what: "both, with the policy", plain: "[::]:8088", secure: "[::]:8090", keys: []string{policy, "HTTPS_ONLY"},
			want: "https://rm1.example:8090"},
		{what: "no TLS, with the policy", plain: "[::]:8088", keys: []string{policy, "HTTPS_ONLY"},
			want: "http://rm1.example:8088"},
		{what: "no pages", keys: []string{plainKey, "web:80"}, want: ""},
	} {
		var text strings.Builder
		for i := 0; i < len(c.keys); i += 2 {
			text.WriteString("<property><name>" + c.keys[i] + "</name><value>" + c.keys[i+1] + "</value></property>")
		}
		conf, err := hadoopconf.Parse(strings.NewReader("<configuration>"+text.String()+"</configuration>"), "yarn-site.xml")
		if err != nil {
			t.Fatal(err)
		}
		dialable := strings.NewReplacer("[::]", "rm1.example", "0.0.0.0", "rm1.example").Replace
		if got := webURL(conf, Config{Settings: config.Config{ID: "rm1"}, Plain: c.plain, Secure: c.secure,
			Dialable: dialable}); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
