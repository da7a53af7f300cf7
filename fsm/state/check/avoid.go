package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

func (s *Tables) CheckAvoided() error {
	if len(s.Avoided) > record.AvoidedMax {
		return fmt.Errorf("%d nodes are avoided, the most is %d", len(s.Avoided), record.AvoidedMax)
	}
	for i, v := range s.Avoided {
		if !s.Nodes.Has(v.Node) || i > 0 && v.UntilMillis < s.Avoided[i-1].UntilMillis {
			return fmt.Errorf("application %d avoids node %d, which is not there or out of order", v.App, v.Node)
		}
	}
	return nil
}
