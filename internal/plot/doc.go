// Package plot draws the few kinds of pictures that a report needs, as SVG, and
// puts them on one page that holds all it shows: no script, no font, no image and
// no style sheet from elsewhere, so that it can be mailed and still be opened in
// ten years.
//
// Pages with a style of their own show the same figures beside FigureStyle.
//
// A [Chart] has lines over an axis; [Ranges] has bars from the median to a high
// percentile, one row a group; a [Table] has the figures. Colors are named by
// [Ink] and set once, in the page's style, for a light and a dark screen; no
// picture relies on color alone, each line is named. The package imports the
// standard library only and knows nothing of what is drawn.
package plot
