package admin

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/certificate"
)

func authorityFlag() cli.Flag {
	return verb.Fill(verb.Files, &cli.StringFlag{Name: "dir", Usage: "directory of ca.pem and ca-key.pem", Value: "."})
}

// authority opens the CA that --dir names.
func authority(c *verb.Call, cluster string) (*certificate.Authority, string, error) {
	dir, err := filepath.Abs(c.String("dir"))
	if err != nil {
		return nil, "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "ca-key.pem")); err != nil {
		return nil, "", &clierr.Error{Code: clierr.CodeFile, What: "there is no ca-key.pem in " + dir,
			Do: "run it where \"rmd init --tls\" created the CA, or name that directory with --dir", Err: fs.ErrNotExist}
	}
	ca, _, err := certificate.Open(dir, cluster, time.Now())
	return ca, dir, err
}

func revokeCertificate() verb.Verb {
	return verb.Verb{
		Name: "revoke", Usage: "revoke a client's or a replica's certificate; needs the CA's key and contacts no replica",
		Args: "FILE|SERIAL", Min: 1, Max: 1,
		Long:     "It adds the certificate to the revocation list crl.pem beside ca.pem and signs the list with the CA. Copy crl.pem to the directory of tls.ca on every replica. A replica reads it within 10 seconds, or on SIGHUP, and closes connections that use the certificate.",
		Flags:    []cli.Flag{authorityFlag()},
		Changes:  true,
		Examples: []string{"rmd access certificate revoke --dir /etc/rmd ann.pem"},
		Run: func(c *verb.Call) error {
			ca, dir, err := authority(c, "")
			if err != nil {
				return err
			}
			serial, err := certificate.SerialOf(c.Arg(0))
			if err != nil {
				return clierr.Usagef(
					"name the certificate's file, or its serial number as \"rmd access certificate list\" shows it", "%v", err)
			}
			added, err := ca.Revoke(dir, serial, time.Now())
			switch {
			case err != nil:
				return err
			case !added:
				c.PrintMessage("%s is already revoked", serial.Text(16))
			default:
				c.PrintMessage("revoked %s; copy %s to the directory of tls.ca on every replica", serial.Text(16),
					filepath.Join(dir, certificate.RevocationFile))
			}
			return nil
		},
	}
}

// revokedCertificate is one revoked certificate.
type revokedCertificate struct {
	Serial        string `json:"serial"`
	RevokedMillis int64  `json:"revoked_millis"`
}

func listRevoked() verb.Verb {
	list := output.List[revokedCertificate]{
		Name: func(r revokedCertificate) string { return r.Serial }, Empty: "no certificate is revoked",
		Columns: []output.Column[revokedCertificate]{
			{Head: "SERIAL", Text: func(r revokedCertificate) string { return r.Serial }},
			{Head: "REVOKED", Text: func(r revokedCertificate) string {
				return output.Time(r.RevokedMillis)
			}, Key: func(r revokedCertificate) float64 { return float64(r.RevokedMillis) }},
		},
	}
	flags := append(verb.ListFlags(list), verb.Fill(verb.Files,
		&cli.StringFlag{Name: "dir", Usage: "directory of ca.pem and crl.pem", Value: "."}))
	return verb.Verb{Name: "list", Usage: "list the revoked certificates of a directory", Flags: flags,
		Examples: []string{"rmd access certificate list --dir /etc/rmd"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, list, func(context.Context) (f verb.Fetched[revokedCertificate], err error) {
				f.Things, err = readRevoked(c.String("dir"))
				if err == nil {
					f.Doc, err = json.Marshal(map[string]any{"revoked": f.Things})
				}
				return f, err
			})
		}}
}

// readRevoked reads the revocation list in a directory. Without a file, the list is empty.
func readRevoked(dir string) ([]revokedCertificate, error) {
	out := []revokedCertificate{}
	data, err := os.ReadFile(filepath.Join(dir, certificate.RevocationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	var cas []*x509.Certificate
	if err == nil {
		cas, err = certificate.Authorities(filepath.Join(dir, "ca.pem"))
	}
	if err != nil {
		return nil, clierr.New(clierr.CodeFile, "name the directory of ca.pem and crl.pem with --dir",
			"cannot read the revocation list: %v", err)
	}
	lists, err := certificate.ParseRevocations(data, cas)
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		for _, e := range l.RevokedCertificateEntries {
			out = append(out, revokedCertificate{e.SerialNumber.Text(16), e.RevocationTime.UnixMilli()})
		}
	}
	return out, nil
}
