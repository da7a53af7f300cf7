package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/server/hadoop"
)

// checkKerberos shows what Kerberos lacks on this machine.
func checkKerberos(c *verb.Call) error {
	dir := conf.ConfDir(c)
	if dir == "" {
		return clierr.Usagef("write --conf-dir DIR", "the directory of Hadoop's files is not named")
	}
	conf, err := conf.ReadHadoop(dir)
	if err != nil {
		return err
	}
	found := hadoop.CheckKerberos(c.Ctx(), conf, c.String("id"))
	bad := 0
	for _, f := range found {
		if !f.OK {
			bad++
		}
	}
	err = verb.ShowText(c, func(context.Context) ([]byte, func(io.Writer) error, error) {
		doc, err := json.Marshal(map[string]any{"findings": found})
		return doc, func(w io.Writer) error { return writeFindings(w, found) }, err
	})
	if err == nil && bad > 0 {
		err = clierr.New(clierr.CodeCheck, "correct it and check again", "%d of %d checks have found a fault",
			bad, len(found))
	}
	return err
}

func writeFindings(w io.Writer, found []hadoop.Finding) error {
	for _, f := range found {
		word, do := "ok ", ""
		if !f.OK {
			word, do = "BAD", "\n     "+f.Do
		}
		if _, err := fmt.Fprintf(w, "%s  %s: %s%s\n", word, f.What, f.Detail, do); err != nil {
			return err
		}
	}
	return nil
}
