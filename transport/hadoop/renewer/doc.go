// Package renewer renews, replaces and cancels the tokens that applications carry for other
// services, while its replica leads. What is due when is in the replicated state (package
// fsm/apptoken); the results of the calls go back to the leader as inputs. A new leader continues
// where the last one was. A call that two leaders make does no harm: renewals and cancellations may
// be repeated.
package renewer
