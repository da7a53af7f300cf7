package main

import (
	"fmt"
	"strings"
)

// Allowed answers of the REST port to invalid requests.
const (
	badRequest   = `^HTTP/1\.1 400 `
	unknownWho   = `^HTTP/1\.1 401 (?s:.*)UNAUTHENTICATED`
	forbidden    = `^HTTP/1\.1 403 `
	nothingThere = `^HTTP/1\.1 404 `
	wrongMethod  = `^HTTP/1\.1 405 `
	tooLarge     = `^HTTP/1\.1 413 `
	served       = `^HTTP/1\.1 200 `
	wrongMedia   = `^HTTP/1\.1 415 `
	misdirected  = `^HTTP/1\.1 421 `
	headersLarge = `^HTTP/1\.1 431 `
)

const asJSON = "Content-Type: application/json\nAuthorization: Bearer "

const oneToken = `{"name":"mallory","role":"admin"}`

// hostileEarly returns requests to the REST port while no access token exists. At that time, programs
// on the replicas' machines have all rights, but a proxy on such a machine forwards requests of
// others.
func hostileEarly() []hostile {
	return []hostile{
		{"the first token, through a proxy", `^HTTP/1\.1 40[13] `,
			req("POST /v1/access/tokens", "Content-Type: application/json\nX-Forwarded-For: 203.0.113.9", oneToken)},
		{"the first token, through a proxy that hides who asks", `^HTTP/1\.1 40[13] `,
			req("POST /v1/access/tokens", "Content-Type: application/json\nVia: 1.1 proxy", oneToken)},
		{"the first token, said to be of this machine", `^HTTP/1\.1 40[13] `,
			req("POST /v1/access/tokens", "Content-Type: application/json\nForwarded: for=127.0.0.1", oneToken)},
		{"the first token, by the page of another site", `^HTTP/1\.1 40[13] `,
			req("POST /v1/access/tokens", "Content-Type: text/plain\nOrigin: http://evil.example\nSec-Fetch-Site: cross-site",
				oneToken)},
		{"the first token, under the name of another site", misdirected,
			req("POST /v1/access/tokens", "Content-Type: application/json\nHost: evil.example", oneToken)},
		{"a snapshot of all keys, through a proxy", `^HTTP/1\.1 40[13] `,
			req("GET /v1/snapshot", "X-Real-Ip: 203.0.113.9", "")},
		{"a member removed, through a proxy", `^HTTP/1\.1 40[13] `,
			req("POST /v1/cluster/members/rm1:remove", "Content-Type: application/json\nX-Forwarded-For: 203.0.113.9", "{}")},
		{"queues through YARN's path, through a proxy", `^HTTP/1\.1 40[13] `,
			req("PUT /ws/v1/cluster/scheduler-conf?user.name=yarn",
				"Content-Type: application/json\nX-Forwarded-For: 203.0.113.9", `{"update-queue":[]}`)},
	}
}

// hostileWeb returns requests to the REST port and the web pages.
func hostileWeb() []hostile {
	return []hostile{
		// Permissions.
		{"a change without a token", unknownWho, req("POST /v1/queues/root.b:stop", "", "")},
		{"an administrator's token without a token", unknownWho,
			req("POST /v1/access/tokens", "Content-Type: application/json", `{"name":"mallory","role":"admin"}`)},
		{"a change, said to come from this machine", unknownWho,
			req("POST /v1/queues/root.b:stop",
				"X-Forwarded-For: 127.0.0.1\nX-Real-Ip: 127.0.0.1\nForwarded: for=127.0.0.1\nVia: 1.1 localhost", "")},
		{"a change with a token of nobody", unknownWho,
			req("POST /v1/queues/root.b:stop", "Authorization: Bearer rmd_0000000000000000000000000000000000000000000", "")},
		{"a read with a token of nobody", unknownWho,
			req("GET /v1/apps", "Authorization: Bearer rmd_0000000000000000000000000000000000000000000", "")},
		{"two different tokens at once", unknownWho,
			req("POST /v1/queues/root.b:stop", "Authorization: Bearer {operator}\nX-Rmd-Token: {read}", "")},
		{"a token of 60 KB", unknownWho, req("GET /v1/apps", "Authorization: Bearer rmd_"+strings.Repeat("a", 60000), "")},
		{"another user's application killed", forbidden, req("POST /v1/apps/{app}:kill", asJSON+"{submit}", `{}`)},
		{"another user's application moved", forbidden,
			req("POST /v1/apps/{app}:move", asJSON+"{submit}", `{"queue":"root.b"}`)},
		{"another user's application made urgent", forbidden,
			req("POST /v1/apps/{app}:priority", asJSON+"{submit}", `{"priority":9}`)},
		{"another user's AM spoken for", forbidden,
			req("POST /v1/apps/{app}/attempt:finish", asJSON+"{submit}", `{"attempt":1,"final_status":"SUCCEEDED"}`)},
		{"a submission in another's name", forbidden,
			req("POST /v1/apps", asJSON+"{submit}", `{"user":"ann","queue":"root.a","unmanaged":true}`)},
		{"another's application killed that is submitted before the body comes", `^10 times (HTTP/1\.1 40[34] (, )?)+$`,
			(*attack).killTheNext},
		{"groups that a caller says it has", forbidden,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","unmanaged":true,"groups":["admins"]}`)},
		{"an id that leaves none to others", `^HTTP/1\.1 400 (?s:.*)was given to nobody`, theLastID},
		{"another user's application killed in its name", forbidden,
			req("POST /v1/apps/{app}:kill", "X-Rmd-User: ann\n"+asJSON+"{submit}", `{}`)},
		{"the state in a snapshot, without the role", forbidden,
			req("GET /v1/snapshot", "Authorization: Bearer {operator}", "")},
		{"the list of tokens, without the role", forbidden,
			req("GET /v1/access/tokens", "Authorization: Bearer {operator}", "")},
		{"a node spoken for through /v1/inputs", forbidden,
			req("POST /v1/inputs", "Content-Type: application/octet-stream\nAuthorization: Bearer {operator}", "x")},
		{"a member removed, without the role", forbidden,
			req("POST /v1/cluster/members/rm1:remove", asJSON+"{operator}", `{}`)},
		{"a join token, without the role", forbidden, req("POST /v1/cluster/tokens", asJSON+"{operator}", `{}`)},
		{"queue configuration, without the role", forbidden,
			req("PUT /v1/conf", asJSON+"{submit}", `{"properties":{"yarn.scheduler.capacity.root.a.capacity":"0"}}`)},
		{"queue configuration through YARN's path, without a token", `^HTTP/1\.1 401 `,
			req("PUT /ws/v1/cluster/scheduler-conf?user.name=yarn", "Content-Type: application/json", `{"update-queue":[]}`)},
		{"profiles, without the role", `^HTTP/1\.1 40[134] `,
			req("GET /debug/pprof/heap", "Authorization: Bearer {operator}", "")},
		{"another user's application killed through YARN's path", forbidden,
			req("PUT /ws/v1/cluster/apps/{app}/state?user.name=mallory", "Content-Type: application/json",
				`{"state":"KILLED"}`)},
		{"an unknown Host, as DNS rebinding sends it", misdirected, req("GET /v1/apps", "Host: evil.example:8088", "")},
		{"two Host headers", badRequest, req("GET /v1/apps", "Host: {host}\nHost: evil.example", "")},

		// Pages.
		{"a form of another site", forbidden, req("POST /ui/queues/root.b/stop",
			"Origin: http://evil.example\nContent-Type: application/x-www-form-urlencoded", "token=x")},
		{"a form from nowhere", forbidden, req("POST /ui/queues/root.b/stop",
			"Content-Type: application/x-www-form-urlencoded", "token=x")},
		{"a form as JSON", wrongMedia, req("POST /ui/apps/{app}/kill", "Content-Type: text/plain", "{}")},
		{"a session that nobody has", `^HTTP/1\.1 (200|303|403|401) `,
			req("GET /ui/", "Cookie: rmd_session=0000000000000000", "")},
		{"a login with a token of nobody", `^HTTP/1\.1 40[13] `,
			req("POST /ui/login", "Content-Type: application/x-www-form-urlencoded\nSec-Fetch-Site: same-origin",
				"token=rmd_0")},
		{"a script in a search", served, checkNotEchoed("<script>alert",
			req("GET /ui/apps?name=%3Cscript%3Ealert(1)%3C/script%3E", "", ""))},
		{"a script in a path", `^HTTP/1\.1 40[04] `,
			checkNotEchoed("<script>alert", req("GET /ui/apps/%3Cscript%3Ealert(1)", "", ""))},
		{"a page in a frame is forbidden", `frame-ancestors 'none'`, req("GET /ui/", "", "")},

		// Paths.
		{"a path that climbs out", `^HTTP/1\.1 (301|307|308|400|404) `, req("GET /ui/static/../../../../etc/passwd", "", "")},
		{"a path that climbs out, escaped", `^HTTP/1\.1 (301|307|308|400|404) `,
			req("GET /ui/static/..%2f..%2f..%2fetc%2fpasswd", "", "")},
		{"a path that climbs out, escaped twice", `^HTTP/1\.1 (301|307|308|400|404) `,
			req("GET /ui/static/%252e%252e%252fetc%252fpasswd", "", "")},
		{"a path with a NUL", `^HTTP/1\.1 40[04] `, req("GET /v1/apps/%00", "", "")},
		{"a path that is not escaped well", badRequest, req("GET /v1/apps/%zz", "", "")},
		{"a path of backslashes", `^HTTP/1\.1 40[04] `, req(`GET /ui/static/..\..\etc\passwd`, "", "")},
		{"a path of 60 KB", `^HTTP/1\.1 (404|414|431) `, req("GET /v1/"+strings.Repeat("a", 60000), "", "")},
		{"a query of 60 KB", `^HTTP/1\.1 (400|414|431) `,
			req("GET /v1/apps?name="+strings.Repeat("a", 60000)+"&x=1", "", "")},
		{"ten thousand parameters", `^HTTP/1\.1 (400|414|431) `, req("GET /v1/apps?"+strings.Repeat("a&", 10000), "", "")},
		{"the absolute address of another server", `^HTTP/1\.1 (400|404|421) `,
			req("GET http://169.254.169.254/latest/meta-data", "", "")},
		{"CONNECT to another server", `^HTTP/1\.1 40[045] `, req("CONNECT 169.254.169.254:80", "", "")},

		// Methods.
		{"TRACE", `^HTTP/1\.1 (404|405) `, req("TRACE /v1/apps", "Cookie: secret", "")},
		{"a method that does not exist", wrongMethod, req("FROB /v1/apps", "", "")},
		{"another method by header", unknownWho, req("POST /v1/apps/{app}:kill", "X-HTTP-Method-Override: GET", "")},
		{"DELETE of what is only read", wrongMethod, req("DELETE /v1/apps", "Authorization: Bearer {admin}", "")},
		{"a WebSocket", served, req("GET /v1/apps?limit=1",
			"Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: AAAA\nSec-WebSocket-Version: 13", "")},
		{"HTTP/2 by prior knowledge", `^HTTP/1\.1 40[04] `, raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
		{"an upgrade to h2c", served, req("GET /v1/health", "Upgrade: h2c\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "")},

		// Form of requests.
		{"noise", badRequest, raw(strings.Repeat("\x80\xff\x00\x13", 64) + "\r\n\r\n")},
		{"Hadoop's preamble", badRequest, raw("hrpc\x09\x00\x00\r\n\r\n")},
		{"a TLS hello, or a request in clear", `^HTTP/1\.[01] 400 |^\(closed\)|^.{0,20}\(closed\)`,
			raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")},
		{"a version of HTTP that does not exist", `^HTTP/1\.1 (400|505) `, raw("GET / HTTP/9.9\r\nHost: {host}\r\n\r\n")},
		{"no Host", badRequest, raw("GET /v1/apps HTTP/1.1\r\n\r\n")},
		{"two lengths", badRequest, req("POST /v1/apps", "Content-Length: 5\nContent-Length: 50", "{}   ")},
		{"a length below zero", badRequest, req("POST /v1/apps", "Content-Length: -1", "{}")},
		{"a length of 2^63", badRequest, req("POST /v1/apps", "Content-Length: 9223372036854775808", "{}")},
		{"a length and chunks", `^HTTP/1\.1 40[01] `,
			req("POST /v1/apps", "Content-Length: 4\nTransfer-Encoding: chunked",
				"0\r\n\r\nGET /v1/cluster:init HTTP/1.1\r\n\r\n")},
		{"chunks in disguise", `^HTTP/1\.1 (400|501) `, req("POST /v1/apps", "Transfer-Encoding: xchunked", "0\r\n\r\n")},
		{"chunks twice", `^HTTP/1\.1 (400|501) `,
			req("POST /v1/apps", "Transfer-Encoding: chunked\nTransfer-Encoding: identity", "0\r\n\r\n")},
		{"chunks of an impossible size", badRequest,
			req("POST /v1/apps", "Transfer-Encoding: chunked\n"+asJSON+"{submit}", "ffffffffffffffffff\r\nx")},
		{"a header folded over lines", badRequest,
			raw("GET /v1/health HTTP/1.1\r\nHost: {host}\r\nX-A: b\r\n c\r\nTransfer-Encoding\r\n : chunked\r\n\r\n")},
		{"a header with a space before the colon", badRequest, raw("GET /v1/health HTTP/1.1\r\nHost : {host}\r\n\r\n")},
		{"lines that end in LF alone, and a second request", `^HTTP/1\.1 (200|400) `,
			raw("GET /v1/health HTTP/1.1\nHost: {host}\nConnection: close\n\nGET /v1/health HTTP/1.1\n\n")},
		{"headers of 1 MB", headersLarge, req("GET /v1/health", "X-A: "+strings.Repeat("a", 1<<20), "")},
		{"a hundred thousand headers", headersLarge, req("GET /v1/health", strings.Repeat("X: y\n", 100000), "")},
		{"ranges without number", `^HTTP/1\.1 (200|416) `,
			req("GET /ui/static/rmd.css", "Range: bytes="+strings.Repeat("0-,", 10000)+"0-1", "")},
		{"languages without number", served, req("GET /ui/", "Accept-Language: "+strings.Repeat("a;q=0.1,", 7000), "")},
		{"an Accept of 50 KB", served, req("GET /ws/v1/cluster/info",
			"Accept: "+strings.Repeat("application/xml;q=0.0001,", 2000), "")},

		// Bodies.
		{"a body of 16 MB", tooLarge, req("POST /v1/apps", asJSON+"{submit}", `{"name":"`+strings.Repeat("a", 16<<20)+`"}`)},
		{"a body of 16 MB in chunks", tooLarge, req("POST /v1/apps", "Transfer-Encoding: chunked\n"+asJSON+"{submit}",
			"1000000\r\n"+strings.Repeat("a", 1<<24)+"\r\n0\r\n\r\n")},
		{"JSON 100,000 deep", badRequest, req("POST /v1/apps", asJSON+"{submit}", strings.Repeat("[", 100000))},
		{"JSON objects 100,000 deep", badRequest, req("POST /v1/apps", asJSON+"{submit}", strings.Repeat(`{"a":`, 100000))},
		{"JSON with a field twice", `^HTTP/1\.1 (400|403) `,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","user":"submit","user":"ann","unmanaged":true}`)},
		{"JSON with an unknown field", badRequest,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","unmanaged":true,"role":"admin"}`)},
		{"JSON with a number of a million digits", badRequest,
			req("POST /v1/apps/{app}:priority", asJSON+"{operator}", `{"priority":1`+strings.Repeat("0", 1000000)+`}`)},
		{"JSON with something after it", badRequest,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","unmanaged":true}{"queue":"root.a"}`)},
		{"JSON that is no UTF-8", `^HTTP/1\.1 (400|404) `,
			req("POST /v1/apps", asJSON+"{submit}", "{\"name\":\"\xff\xfe\",\"queue\":\"root.none\",\"unmanaged\":true}")},
		{"YAML 200,000 deep", `^HTTP/1\.1 (400|415) `,
			req("POST /v1/conf:validate", "Content-Type: application/yaml\nAuthorization: Bearer {operator}",
				strings.Repeat("[", 200000))},
		{"YAML that multiplies itself", `^HTTP/1\.1 (400|415) `,
			req("POST /v1/conf:validate", "Content-Type: application/yaml\nAuthorization: Bearer {operator}", yamlBomb())},
		{"XML that multiplies itself", badRequest,
			req("POST /v1/conf:validate", "Content-Type: application/xml\nAuthorization: Bearer {operator}", xmlBomb())},
		{"XML 100,000 deep", badRequest, req("POST /v1/conf:validate",
			"Content-Type: application/xml\nAuthorization: Bearer {operator}", strings.Repeat("<a>", 100000))},
		{"XML that reads a file", badRequest, req("POST /v1/conf:validate",
			"Content-Type: application/xml\nAuthorization: Bearer {operator}",
			`<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>&f;</value></property></configuration>`)},
		{"XML for YARN's configuration, 100,000 deep", `^HTTP/1\.1 40[013] `,
			req("PUT /ws/v1/cluster/scheduler-conf?user.name=yarn",
				"Content-Type: application/xml\nAuthorization: Bearer {submit}", strings.Repeat("<sched-conf>", 100000))},
		{"a compressed body", `^HTTP/1\.1 (400|415) `,
			req("POST /v1/apps", "Content-Encoding: gzip\n"+asJSON+"{submit}", "\x1f\x8b\x08\x00")},
		{"a body of another kind", wrongMedia, req("POST /v1/apps",
			"Content-Type: text/xml\nAuthorization: Bearer {submit}", "<a/>")},
		{"a snapshot of noise", `^HTTP/1\.1 (400|409|422) `,
			req("PUT /v1/snapshot?replace_state=x", "Content-Type: application/octet-stream\nAuthorization: Bearer {admin}",
				strings.Repeat("RMDSNAP\x09", 1000))},

		// Values.
		{"a name of 3.9 MB", `^HTTP/1\.1 (200|400|413) `,
			req("POST /v1/apps?dry_run", asJSON+"{submit}",
				`{"queue":"root.b","unmanaged":true,"name":"`+strings.Repeat("n", 3900<<10)+`"}`)},
		{"a hundred thousand tags", `^HTTP/1\.1 (400|413) `,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","unmanaged":true,"tags":["t"`+
				strings.Repeat(`,"t"`, 100000)+`]}`)},
		{"a kind of 1 MB", `^HTTP/1\.1 (200|400|413) `,
			req("POST /v1/apps?dry_run", asJSON+"{submit}",
				`{"queue":"root.b","unmanaged":true,"type":"`+strings.Repeat("n", 1<<20)+`"}`)},
		{"diagnostics of 3.9 MB for nobody", `^HTTP/1\.1 (400|404|413) `,
			req("POST /v1/apps/application_1_0001:kill", asJSON+"{operator}",
				`{"diagnostics":"`+strings.Repeat("n", 3900<<10)+`"}`)},
		{"a node of 2^63-1 MB", `^HTTP/1\.1 (400|413) `,
			req("POST /v1/nodes/{node}:resource", asJSON+"{operator}",
				`{"resource":{"memory-mb":9223372036854775807,"vcores":1}}`)},
		{"an AM of 2^63-1 MB", `^HTTP/1\.1 (400|409|413|422) `,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","am":{"memory-mb":9223372036854775807,"vcores":1}}`)},
		{"an AM below zero", `^HTTP/1\.1 (400|409|422) `,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.b","am":{"memory-mb":-1,"vcores":-1}}`)},
		{"a priority beyond 32 bits", badRequest,
			req("POST /v1/apps/{app}:priority", asJSON+"{operator}", `{"priority":4294967296}`)},
		{"a lifetime of 2^63-1 ms of nobody's application", `^HTTP/1\.1 (400|404|409|422) `,
			req("POST /v1/apps", asJSON+"{submit}", `{"queue":"root.none","unmanaged":true,"lifetime_ms":9223372036854775807}`)},
		{"an id beyond what ids can be", `^HTTP/1\.1 (400|404) `,
			req("GET /v1/apps/application_99999999999999999999_0001", "", "")},
		{"an id below zero", `^HTTP/1\.1 (400|404) `, req("GET /v1/apps/application_-1_-1", "", "")},
		{"a limit beyond everything", badRequest, req("GET /v1/apps?limit=18446744073709551616", "", "")},
		{"a log read from beyond the end", `^HTTP/1\.1 (200|400|410) `,
			req("GET /v1/log?from=18446744073709551615&count=1000000000", "", "")},
		{"placement rules that double a name 60 times", `"why":"[^"]*more than 2048 bytes`,
			req("POST /v1/queues:place", asJSON+"{read}", doublingRules())},
		{"a queue called secret is one like others", served,
			req("POST /v1/conf:validate", asJSON+"{operator}",
				`{"properties":{"yarn.scheduler.capacity.root.queues":"secret","yarn.scheduler.capacity.root.secret.capacity":"100"}}`)},
		{"an idempotency key of 60 KB", badRequest,
			req("POST /v1/apps", "Idempotency-Key: "+strings.Repeat("k", 60000)+"\n"+asJSON+"{submit}",
				`{"queue":"root.b","unmanaged":true}`)},
		{"a queue that is no queue", `^HTTP/1\.1 404 `, req("POST /v1/queues/..%2f..:stop", asJSON+"{operator}", `{}`)},

		// The proxy to AMs.
		{"the page of an application that is none", nothingThere, req("GET /proxy/application_1_0001/", "", "")},
		{"the page of an application by a path that climbs", `^HTTP/1\.1 (301|307|308|404) `,
			req("GET /proxy/application_1_0001/../../v1/snapshot", "", "")},
		{"a header smuggled through the proxy's path", badRequest,
			req("GET /proxy/{app}/%0d%0aX-Evil:%201 HTTP/1.1\r\nX", "", "")},
		{"a loop through the proxy", `^HTTP/1\.1 508 `, req("GET /proxy/{app}/", "Rmd-Proxied: 1", "")},
	}
}

// theLastID submits an application with the greatest possible id.
func theLastID(a *attack) string {
	return req("POST /v1/apps", asJSON+"{submit}",
		a.fill(`{"id":"application_{stamp}_2147483647","queue":"root.b","unmanaged":true}`))(a)
}

// yamlBomb returns a YAML document of a few hundred bytes whose aliases expand to gigabytes.
func yamlBomb() string {
	out := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		n, m := string(rune('0'+i)), string(rune('0'+i-1))
		out += "a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat("*a"+m+",", 9), ",") + "]\n"
	}
	return out
}

// doublingRules asks for a placement by rules that each double the length of a queue's name, for a
// name of 256 bytes.
func doublingRules() string {
	twice := `{\"type\":\"user\",\"matches\":\"*\",\"policy\":\"setDefaultQueue\",\"value\":\"%default%default\"},`
	last := `{\"type\":\"user\",\"matches\":\"*\",\"policy\":\"custom\",\"customPlacement\":\"%default.%user\",\"fallbackResult\":\"reject\"}`
	return `{"user":"` + strings.Repeat("u", 256) +
		`","properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100",` +
		`"yarn.scheduler.capacity.mapping-rule-format":"json","yarn.scheduler.capacity.mapping-rule-json":"{\"rules\":[` +
		strings.Repeat(twice, 60) + last + `]}"}}`
}

// manyQueues returns a configuration of 60 kB.
func manyQueues() string {
	var names, more strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&names, ",q%05d", i)
		fmt.Fprintf(&more, `,"yarn.scheduler.capacity.root.q%05d.capacity":"1"`, i)
	}
	return `{"properties":{"yarn.scheduler.capacity.root.queues":"` + names.String()[1:] + `"` + more.String() + `}}`
}

func xmlBomb() string {
	out := `<!DOCTYPE x [<!ENTITY a0 "x">`
	for i := 1; i < 10; i++ {
		n, m := string(rune('0'+i)), string(rune('0'+i-1))
		out += `<!ENTITY a` + n + ` "` + strings.Repeat("&a"+m+";", 10) + `">`
	}
	return out +
		`]><configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>&a9;</value></property></configuration>`
}
