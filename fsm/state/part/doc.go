// Package part has the parts of which a state consists, so that one list of them serves snapshots, forks,
// restored states and checks. It knows neither the state nor its records.
package part
