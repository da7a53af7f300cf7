package nemesis

import "slices"

// All returns all faults.
func All() []Fault {
	return slices.Concat(Processes(), Stdio(), Links(), Disks(), Files(), Certificates(), Membership(), Clocks(), Failpoints(), Strangers(), Upgrades(), Others())
}

// Find returns a fault by its name.
func Find(name string) (Fault, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}
