package plots

import (
	"cmp"
	"slices"

	"rmd/api"
	"rmd/internal/plot"
	"rmd/transport/http/ui/format"
)

// ShadowQueue has the plots of a queue.
type ShadowQueue struct {
	Path   string
	Charts []plot.Chart
}

// shadowQueues is the largest number of queues with plots. They are those with the most starts in
// the cluster.
const shadowQueues = 8

// OfShadow returns the plots of the busiest queues of the cluster and its shadow, which must have points.
func OfShadow(d *api.Shadow) (out []ShadowQueue) {
	x := plot.Clock(float64(d.BeganMillis), float64(d.Points[len(d.Points)-1].AtMillis))
	var marks []plot.Mark
	if v := d.Divergence; v != nil {
		marks = append(marks, plot.Mark{At: float64(v.AtMillis),
			Text: clockText(v.AtMillis) + " UTC: the first decision that differs"})
	}
	for _, queue := range busiest(d.Queues) {
		p := shadowPlots{d.Points, queue, x, marks}
		out = append(out, ShadowQueue{queue, []plot.Chart{
			p.chart("Used", plot.Shares, func(q api.ShadowPointQueue) (float64, float64) { return q.ClusterUsed, q.ShadowUsed }),
			p.chart("Wait of what started", func(most float64) plot.Axis { return plot.Waits("", most, format.Span) },
				func(q api.ShadowPointQueue) (float64, float64) { return q.ClusterWait, q.ShadowWait }),
		}})
	}
	return out
}

// busiest returns the paths of these queues, sorted.
func busiest(queues []api.ShadowQueue) (out []string) {
	list := slices.DeleteFunc(slices.Clone(queues), func(q api.ShadowQueue) bool {
		return q.Cluster.Waits.Count+q.Shadow.Waits.Count == 0 || q.Path == api.ShadowRemoved // ShadowRemoved has no points
	})
	slices.SortStableFunc(list,
		func(a, b api.ShadowQueue) int { return cmp.Compare(b.Cluster.Waits.Count, a.Cluster.Waits.Count) })
	for _, q := range list[:min(len(list), shadowQueues)] {
		out = append(out, q.Path)
	}
	slices.Sort(out)
	return out
}

// shadowPlots makes the plots of a queue, which share the time axis.
type shadowPlots struct {
	points []api.ShadowPoint
	queue  string
	x      plot.Axis
	marks  []plot.Mark
}

func (p *shadowPlots) chart(title string, y func(most float64) plot.Axis,
	value func(api.ShadowPointQueue) (cluster, shadow float64)) plot.Chart {
	cluster, shadow := plot.Line{Name: "cluster", Ink: plot.Blue},
		plot.Line{Name: "shadow", Ink: plot.Orange, Dashed: true}
	most := 0.0
	for _, at := range p.points {
		c, s := value(at.Queues[p.queue])
		cluster.Points = append(cluster.Points, plot.Point{X: float64(at.AtMillis), Y: c})
		shadow.Points = append(shadow.Points, plot.Point{X: float64(at.AtMillis), Y: s})
		most = max(most, c, s)
	}
	return plot.Chart{Title: title, X: p.x, Y: y(most), Lines: []plot.Line{cluster, shadow}, Marks: p.marks, Width: Width,
		Height: Height}
}
