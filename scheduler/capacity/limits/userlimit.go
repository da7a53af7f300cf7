package limits

import (
	"math/big"

	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// UserLimitInput has the arguments of UserLimit. Sums are over users of the leaf. Used resources
// include reserved ones.
type UserLimitInput struct {
	Calculator      yarn.Calculator
	Label           yarn.Resource // of the nodes of the label
	MinAlloc        yarn.Resource
	EffMin, EffMax  yarn.Resource // of the leaf
	DominantUsed    yarn.Resource // Σ over all users of DominantPart(user.used)
	ActiveUsed      yarn.Resource // Σ user.used over the active users
	ActiveWeight    yarn.Fraction // Σ weights of the active users
	AllWeight       yarn.Fraction // Σ weights of all users with an application here; only if AllUsers
	MinUserLimit    yarn.Fraction // percent
	UserLimitFactor yarn.Fraction
	UserLimitOff    bool
	IgnoreExclusive bool // the pass ignores partition exclusivity
	AllUsers        bool // compute the limit over all users, as preemption does
}

// UserLimit returns the limit of a user with weight 1, rounded up to whole minimum allocations.
// WeightedUserLimit converts it for other users.
//
// Source: Hadoop 3.4.2, UsersManager.computeUserLimit.
func UserLimit(in UserLimitInput) yarn.Resource {
	calc := in.Calculator
	guaranteed := calc.Max(in.Label, in.EffMin, in.MinAlloc)
	current := currentCapacity(in, guaranteed)
	sum, weight := in.ActiveUsed.Add(in.MinAlloc), in.ActiveWeight
	if in.AllUsers {
		sum, weight = current, in.AllWeight
	}
	even := calc.DivideCeilFraction(sum, weight)
	least := calc.DivideCeil(calc.MultiplyRoundDown(current, in.MinUserLimit), 100)
	base := calc.Max(in.Label, even, least)
	return calc.RoundUp(calc.Min(in.Label, base, userLimitCap(in, guaranteed)), in.MinAlloc)
}

// WeightedUserLimit returns the limit of a user with a weight, given the limit for weight 1.
func WeightedUserLimit(calc yarn.Calculator, limit yarn.Resource, weight yarn.Fraction,
	minAlloc yarn.Resource) yarn.Resource {
	return calc.MultiplyNormalizeDown(limit, weight, minAlloc)
}

// currentCapacity is the resource that the user limit divides: the guarantee or, if the leaf uses
// at least that much, its use and one minimum allocation.
func currentCapacity(in UserLimitInput, guaranteed yarn.Resource) yarn.Resource {
	consumed := consumed(in.Calculator, in.Label, in.DominantUsed, in.MinAlloc)
	if in.Calculator.Compare(in.Label, consumed, guaranteed) < 0 {
		return guaranteed
	}
	return consumed.Add(in.MinAlloc)
}

func userLimitCap(in UserLimitInput, guaranteed yarn.Resource) yarn.Resource {
	switch {
	case in.IgnoreExclusive:
		return in.Label
	case in.UserLimitOff || in.EffMin.IsZero():
		return in.Calculator.RoundDown(in.EffMax, in.MinAlloc)
	}
	return in.Calculator.MultiplyRoundDown(guaranteed, in.UserLimitFactor)
}

// UserCheckInput has the arguments of UserCheck.
type UserCheckInput struct {
	Calculator      yarn.Calculator
	Total           yarn.Resource // of the cluster, for all labels
	Used            yarn.Resource // the user's, reserved included
	AppReserved     yarn.Resource // the application's
	Limit           yarn.Resource // the result of WeightedUserLimit
	ContinueLooking bool
}

// UserCheck reports whether a user may use more, and how much the application must unreserve for
// it. A user at the limit may use more, so the use can exceed the limit by one container.
func UserCheck(in UserCheckInput) (ok bool, needUnreserve yarn.Resource) {
	if in.Calculator.Compare(in.Total, in.Used, in.Limit) <= 0 {
		return true, yarn.Resource{}
	}
	if in.ContinueLooking && in.Calculator.Compare(in.Total, in.Used.Sub(in.AppReserved), in.Limit) <= 0 {
		return true, in.Used.Sub(in.Limit)
	}
	return false, yarn.Resource{}
}

// DominantPart returns the component of used with the largest share of total, and 0 for the others.
// It is what a user adds to the usage ratio of the leaf. A sum of such parts keeps the ratio exact.
func DominantPart(calc yarn.Calculator, total, used yarn.Resource) yarn.Resource {
	if !calc.Dominant {
		return yarn.Resource{yarn.Memory: used[yarn.Memory]}
	}
	best := -1
	for k := 0; k < calc.Kinds; k++ {
		if total[k] <= 0 || used[k] <= 0 {
			continue
		}
		if best < 0 || yarn.CompareProducts(used[k], total[best], used[best], total[k]) > 0 {
			best = k
		}
	}
	var out yarn.Resource
	if best >= 0 {
		out[best] = used[best]
	}
	return out
}

// consumed returns multiplyNormalizeUp(total, U, step) with U = Σ part[k]/total[k].
func consumed(calc yarn.Calculator, total, part, step yarn.Resource) yarn.Resource {
	kinds, only := 0, 0
	for k, v := range part {
		if v > 0 && total[k] > 0 {
			kinds, only = kinds+1, k
		}
	}
	switch kinds {
	case 0:
		return yarn.Resource{}
	case 1: // the usual case: one dominant kind, no big numbers
		return calc.MultiplyNormalizeUp(total, yarn.NewFraction(part[only], total[only]), step)
	}
	ratio := new(big.Rat)
	for k, v := range part {
		if v > 0 && total[k] > 0 {
			ratio.Add(ratio, big.NewRat(v, total[k]))
		}
	}
	if f, exact := share.OfRat(ratio).Exact(); exact {
		return calc.MultiplyNormalizeUp(total, f, step)
	}
	var out yarn.Resource
	for k := 0; k < calc.Kinds; k++ {
		out[k] = ceilRat(new(big.Rat).Mul(ratio, new(big.Rat).SetInt64(total[k])))
	}
	return calc.RoundUp(out, step)
}

// most is the most units of a kind that a limit has. Like that of an amount in a configuration, it keeps
// sums far from the limits of 64 bits.
const most = int64(1) << 50

func ceilRat(r *big.Rat) int64 {
	n := new(big.Int).Add(r.Num(), r.Denom())
	n.Sub(n, big.NewInt(1)).Div(n, r.Denom())
	if !n.IsInt64() {
		return most
	}
	return n.Int64()
}
