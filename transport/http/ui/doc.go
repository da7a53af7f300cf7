// Package ui serves the operator's pages. They show the state and offer an operator's few actions.
// The pages are under /ui/. Addresses of YARN's pages under /cluster redirect to them.
//
//	GET  ─▶ view.View (one fork) ─▶ a page's data ─▶ template "main" ─▶ shell
//	POST ─▶ token and form ─▶ Caller.Call: the route of the API, its admission and audit ─▶ redirect
//	/ui/live ─▶ one message when the index, the leader or the term has changed, at most two a second
//
// A page works without JavaScript. With JavaScript, a live message makes the page fetch itself
// again and replace its regions marked data-live. All viewers share the rendered main part of a
// page for one tick, so fifty viewers cost as much as one. The main part has the index of its
// state. If that is older than the index in the last message, the page fetches itself once more.
// Nothing in the main part belongs to one viewer except the token in its forms, which is inserted
// when the page is sent.
//
// No page makes more than one pass over a table of the fork. Exact but expensive parts (why an
// application waits) have their own time budget; see reasons.
//
// The package makes no decisions and has no scheduling state. It uses the replica through the
// interfaces of Config, which package httpserver provides.
//
// Templates, the style sheet, the script and the icon are embedded without a build step, and the
// pages load nothing from other servers.
package ui
