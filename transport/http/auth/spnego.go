package auth

import (
	"encoding/asn1"
	"errors"
)

// The identifiers of mechanisms. Windows names Kerberos by an identifier of its own, too.
var (
	oidSPNEGO   = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 2}
	oidKerberos = asn1.ObjectIdentifier{1, 2, 840, 113554, 1, 2, 2}
	oidWindows  = asn1.ObjectIdentifier{1, 2, 840, 48018, 1, 2, 2}
)

// negTokenInit is the first token of SPNEGO (RFC 4178).
type negTokenInit struct {
	MechTypes   []asn1.ObjectIdentifier `asn1:"explicit,tag:0"`
	ReqFlags    asn1.BitString          `asn1:"explicit,optional,tag:1"`
	MechToken   []byte                  `asn1:"explicit,optional,tag:2"`
	MechListMIC []byte                  `asn1:"explicit,optional,tag:3"`
}

// negTokenResp is the server's answer.
type negTokenResp struct {
	NegState      asn1.Enumerated       `asn1:"explicit,tag:0"` // 0: accept-completed
	SupportedMech asn1.ObjectIdentifier `asn1:"explicit,tag:1"`
	ResponseToken []byte                `asn1:"explicit,optional,omitempty,tag:2"`
}

var errNegotiate = errors.New("the header Authorization has no token of SPNEGO or Kerberos")

// unwrapNegotiate returns Kerberos's token in the first token of a client, and the function that
// makes of Kerberos's reply the answer to the client. A client may leave SPNEGO out.
func unwrapNegotiate(token []byte) (mech []byte, answer func(reply []byte) ([]byte, error), err error) {
	var outer asn1.RawValue
	rest, err := asn1.Unmarshal(token, &outer)
	if err != nil || len(rest) > 0 || outer.Class != asn1.ClassApplication || outer.Tag != 0 || !outer.IsCompound {
		return nil, nil, errNegotiate
	}
	var oid asn1.ObjectIdentifier
	body, err := asn1.Unmarshal(outer.Bytes, &oid)
	switch {
	case err != nil:
		return nil, nil, errNegotiate
	case oid.Equal(oidKerberos):
		return token, func(reply []byte) ([]byte, error) { return reply, nil }, nil
	case !oid.Equal(oidSPNEGO):
		return nil, nil, errNegotiate
	}
	var init negTokenInit
	if rest, err = asn1.UnmarshalWithParams(body, &init, "explicit,tag:0"); err != nil || len(rest) > 0 ||
		len(init.MechTypes) == 0 {
		return nil, nil, errNegotiate
	}
	first := init.MechTypes[0]
	if !first.Equal(oidKerberos) && !first.Equal(oidWindows) || len(init.MechToken) == 0 {
		return nil, nil, errors.New("the client prefers another mechanism to Kerberos: " + first.String())
	}
	return init.MechToken, func(reply []byte) ([]byte, error) {
		return asn1.MarshalWithParams(negTokenResp{SupportedMech: first, ResponseToken: reply}, "explicit,tag:1")
	}, nil
}
