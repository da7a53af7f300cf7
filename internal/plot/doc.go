// Package plot draws the kinds of charts that a report needs, as SVG, on one self-contained page.
// The page needs no script, font, image or style sheet from elsewhere, so it can be mailed and
// opened years later.
//
// Pages with their own style show the same charts with FigureStyle.
//
// A [Chart] has lines over an axis. [Ranges] has bars from the median to a high percentile, one row
// per group. A [Table] has the values. [Ink] names the colors, which the page's style defines for
// light and dark screens. No chart relies on color alone, because each line has a name. The package
// imports only the standard library and knows nothing about the data.
package plot
