// Package web holds the operator's pages as files: templates, one style sheet,
// one script and an icon. They are embedded as they are; there is no build step
// and nothing is loaded from elsewhere. transport/rest/ui fills them.
package web
