package gss

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Ticket is a ticket for a service, with the key that the KDC gave the client.
type Ticket struct {
	// Client is the principal that uses the ticket.
	Client Principal
	Ticket messages.Ticket
	Key    types.EncryptionKey
	// Binding is the data of the channel, or nil.
	Binding []byte
	// OneSided makes the server send no reply.
	OneSided bool
}

// Initiator is a client that waits for the reply of a server.
type Initiator struct {
	ticket Ticket
	auth   types.Authenticator
}

// The flags that a client sends: replay and sequence detection, encryption, integrity.
const flagsWanted = 4 | 8 | 16 | 32

// Initiate returns the first token for the server. now is the client's time.
func Initiate(t Ticket, now time.Time) (*Initiator, []byte, error) {
	if _, err := profileOf(t.Key); err != nil {
		return nil, nil, err
	}
	now = now.UTC()
	flags := uint32(flagsWanted)
	if !t.OneSided {
		flags |= flagMutual
	}
	sum := binary.LittleEndian.AppendUint32(nil, 16)
	if t.Binding == nil {
		sum = append(sum, make([]byte, 16)...)
	} else {
		h := hashBinding(t.Binding)
		sum = append(sum, h[:]...)
	}
	i := &Initiator{ticket: t, auth: types.Authenticator{
		AVNO:      5,
		CRealm:    t.Client.Realm,
		CName:     types.PrincipalName{NameType: 1, NameString: t.Client.Components},
		Cksum:     types.Checksum{CksumType: checksumType, Checksum: binary.LittleEndian.AppendUint32(sum, flags)},
		CTime:     now.Truncate(time.Second),
		Cusec:     now.Nanosecond() / 1000,
		SubKey:    newKey(t.Key.KeyType),
		SeqNumber: int64(rand.Uint32() >> 2),
	}}
	plain, err := i.auth.Marshal()
	if err != nil {
		return nil, nil, err
	}
	sealed, err := seal(t.Key, usageAuthenticator, plain)
	if err != nil {
		return nil, nil, err
	}
	req := messages.APReq{PVNO: 5, MsgType: 14, APOptions: types.NewKrbFlags(), Ticket: t.Ticket,
		EncryptedAuthenticator: types.EncryptedData{EType: t.Key.KeyType, Cipher: sealed}}
	if !t.OneSided {
		types.SetFlag(&req.APOptions, optionMutual)
	}
	body, err := req.Marshal()
	if err != nil {
		return nil, nil, err
	}
	return i, frame(kindRequest, body), nil
}

// Finish checks the server's reply. reply is nil if the ticket is OneSided.
func (i *Initiator) Finish(reply []byte) (ctx *Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			ctx, err = nil, fmt.Errorf("the server's reply cannot be decoded: %v", p)
		}
	}()
	if i.ticket.OneSided {
		seq := uint64(i.auth.SeqNumber)
		return newContext(false, i.auth.SubKey, false, seq, seq)
	}
	kind, body, err := unframe(reply)
	switch {
	case err != nil:
		return nil, err
	case kind == kindError:
		return nil, remoteError(body)
	case kind != kindReply:
		return nil, errors.New("the server did not send a reply")
	}
	var rep messages.APRep
	if err := rep.Unmarshal(body); err != nil {
		return nil, err
	}
	plain, err := open(i.ticket.Key, usageReply, rep.EncPart.Cipher)
	if err != nil {
		return nil, fmt.Errorf("the server does not know the key of its ticket: %w", err)
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil {
		return nil, err
	}
	if !part.CTime.Equal(i.auth.CTime) || part.Cusec != i.auth.Cusec {
		return nil, errors.New("the server replies to another request")
	}
	key, chosen := i.auth.SubKey, len(part.Subkey.KeyValue) > 0
	if chosen {
		key = part.Subkey
	}
	return newContext(false, key, chosen, uint64(i.auth.SeqNumber), uint64(uint32(part.SequenceNumber)))
}

func remoteError(body []byte) error {
	var e messages.KRBError
	if err := e.Unmarshal(body); err != nil {
		return fmt.Errorf("the server refuses: %w", err)
	}
	return fmt.Errorf("the server refuses: %s", clip(e.Error()))
}
