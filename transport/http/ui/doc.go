// Package ui is the operator's pages: what the state says, drawn, and the few
// actions an operator takes. The pages are under /ui/; YARN's bookmarks under
// /cluster lead there.
//
//	GET  ─▶ view.View (one fork) ─▶ a page's data ─▶ template "main" ─▶ shell
//	POST ─▶ token and form ─▶ Caller.Call: the route of the API, its admission and audit ─▶ redirect
//	/ui/live ─▶ one message when the index, the leader or the term has moved, at most two a second
//
// A page is whole without JavaScript. With it, the live messages make the page
// fetch itself again and replace its regions marked data-live; the rendered
// main part of a page is shared by all viewers for one tick, so that fifty
// viewers cost what one does. A page that got less than the last message told, by
// the index beside it, asks once more. Nothing in the main part belongs to one viewer but the
// token in its forms, which is put in when it is sent.
//
// No page does work beyond one pass over a table of the fork. What is exact but
// dear (why an application waits) has a share of time of its own; see reasons.
//
// The package decides nothing and holds no scheduling state. It sees the replica
// through the interfaces of Config, which package httpserver fills.
//
// Templates, the style sheet, the script and the icon are embedded as they are: there is
// no build step, and nothing is loaded from elsewhere.
package ui
