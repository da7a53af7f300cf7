package command

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
	"rmd/internal/certificate"
)

func authorityFlag() cli.Flag {
	return fill(files, &cli.StringFlag{Name: "dir", Usage: "directory of ca.pem and ca-key.pem", Value: "."})
}

// authority opens the CA that --dir names.
func (c *call) authority(cluster string) (*certificate.Authority, string, error) {
	dir, err := filepath.Abs(c.String("dir"))
	if err != nil {
		return nil, "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "ca-key.pem")); err != nil {
		return nil, "", &clierr.Error{Code: clierr.CodeFile, What: "there is no ca-key.pem in " + dir, Do: "run it where \"rmd init --tls\" created the CA, or name that directory with --dir", Err: fs.ErrNotExist}
	}
	ca, _, err := certificate.Open(dir, cluster, time.Now())
	return ca, dir, err
}

func revokeCertificate() verb {
	return verb{
		name: "revoke", usage: "revoke a client's or a replica's certificate; needs the CA's key and contacts no replica", args: "FILE|SERIAL", min: 1, max: 1,
		long:     "It adds the certificate to the revocation list crl.pem beside ca.pem and signs the list with the CA. Copy crl.pem to the directory of tls.ca on every replica. A replica reads it within 10 seconds, or on SIGHUP, and closes connections that use the certificate.",
		flags:    []cli.Flag{authorityFlag()},
		examples: []string{"rmd access certificate revoke --dir /etc/rmd ann.pem"},
		run: func(c *call) error {
			ca, dir, err := c.authority("")
			if err != nil {
				return err
			}
			serial, err := certificate.SerialOf(c.arg(0))
			if err != nil {
				return clierr.Usagef("name the certificate's file, or its serial number as \"rmd access certificate list\" shows it", "%v", err)
			}
			added, err := ca.Revoke(dir, serial, time.Now())
			switch {
			case err != nil:
				return err
			case !added:
				c.printMessage("%s is already revoked", serial.Text(16))
			default:
				c.printMessage("revoked %s; copy %s to the directory of tls.ca on every replica", serial.Text(16), filepath.Join(dir, certificate.RevocationFile))
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

func listRevoked() verb {
	list := output.List[revokedCertificate]{
		Name: func(r revokedCertificate) string { return r.Serial }, Empty: "no certificate is revoked",
		Columns: []output.Column[revokedCertificate]{
			{Head: "SERIAL", Text: func(r revokedCertificate) string { return r.Serial }},
			{Head: "REVOKED", Text: func(r revokedCertificate) string { return output.Time(r.RevokedMillis) }, Key: func(r revokedCertificate) float64 { return float64(r.RevokedMillis) }},
		},
	}
	flags := append(listFlags(list), fill(files, &cli.StringFlag{Name: "dir", Usage: "directory of ca.pem and crl.pem", Value: "."}))
	return verb{name: "list", usage: "list the revoked certificates of a directory", flags: flags,
		examples: []string{"rmd access certificate list --dir /etc/rmd"},
		run: func(c *call) error {
			return showList(c, list, func(context.Context) (f fetched[revokedCertificate], err error) {
				f.things, err = readRevoked(c.String("dir"))
				if err == nil {
					f.doc, err = json.Marshal(map[string]any{"revoked": f.things})
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
		return nil, clierr.New(clierr.CodeFile, "name the directory of ca.pem and crl.pem with --dir", "cannot read the revocation list: %v", err)
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
