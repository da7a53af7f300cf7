// Package placement decides which nodes suit a request: node, rack, or
// anywhere, and how many offers a request must miss before it goes further
// away. Which queue an application enters is capacity.Config.Place.
package placement
