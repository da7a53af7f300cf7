package hadoop

import (
	"rmd/transport/http/webapp"
	yarnweb "rmd/transport/http/yarn"
)

// webApps are the web applications of Hadoop: where each is served, the key that asks for it, and the
// key of its war file or folder. The paths are those of a Java ResourceManager.
var webApps = []struct{ path, enable, file string }{
	{"/ui2", "yarn.webapp.ui2.enable", "yarn.webapp.ui2.war-file-path"},
	{"/scheduler-ui", "yarn.webapp.scheduler-ui.enable", "yarn.webapp.scheduler-ui.war-file-path"},
}

// openWebApps opens the web applications for which the site asks. As in YARN, the replica starts
// without one that cannot be opened.
func (f *Services) openWebApps() error {
	log := f.logger("web")
	for _, w := range webApps {
		if f.conf.Value(w.enable, "false") != "true" {
			continue
		}
		file := f.conf.Value(w.file, "")
		if file == "" {
			log.Error("a web application is not served: rmd has no war file of its own", "key", w.enable, "do",
				"set "+w.file+" to that of the site's Hadoop")
			continue
		}
		app, err := webapp.Open(w.path, file)
		if err != nil {
			log.Error("a web application is not served", "key", w.file, "error", err)
			continue
		}
		f.webApps = append(f.webApps, app)
	}
	return nil
}

// WebApps returns the web applications to serve.
func (f *Services) WebApps() []*webapp.App { return f.webApps }

// webAppDefaults are the keys that the web applications read from /conf, with the values of Hadoop's
// own default files, which a site does not have beside its own.
var webAppDefaults = []yarnweb.Setting{
	{Name: webType, Value: "simple", File: "core-default.xml"},
	{Name: "hadoop.security.authentication", Value: "simple", File: "core-default.xml"},
	{Name: "yarn.http.policy", Value: "HTTP_ONLY", File: "yarn-default.xml"},
	{Name: "yarn.nodemanager.webapp.address", Value: "0.0.0.0:8042", File: "yarn-default.xml"},
	{Name: "yarn.timeline-service.webapp.address", Value: "0.0.0.0:8188", File: "yarn-default.xml"},
	{Name: "yarn.timeline-service.webapp.https.address", Value: "0.0.0.0:8190", File: "yarn-default.xml"},
	{Name: "yarn.timeline-service.reader.webapp.address", Value: "0.0.0.0:8188", File: "yarn-default.xml"},
	{Name: "yarn.timeline-service.reader.webapp.https.address", Value: "0.0.0.0:8190", File: "yarn-default.xml"},
	{Name: "yarn.webapp.scheduler-ui.read-only.enable", Value: "false", File: "yarn-default.xml"},
	{Name: "mapreduce.jobhistory.webapp.address", Value: "0.0.0.0:19888", File: "mapred-default.xml"},
	{Name: "mapreduce.jobhistory.webapp.https.address", Value: "0.0.0.0:19890", File: "mapred-default.xml"},
}
