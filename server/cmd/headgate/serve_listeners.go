package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// addTLS adds the flags for TLS files. They apply to listeners without TLS files in the policies file.
func (f *serveFlags) addTLS(flags *pflag.FlagSet) {
	flags.StringVar(&f.tls.Cert, "tls-cert", "", "`file` with a certificate and its chain in PEM, reread when it changes: every listener then uses TLS")
	flags.StringVar(&f.tls.Key, "tls-key", "", "`file` with the private key of --tls-cert in PEM")
	flags.StringVar(&f.tls.ClientCA, "tls-client-ca", "", "`file` with CA certificates in PEM: clients must present a certificate signed by one of them")
}

// setTLS sets the TLS files of each listener. A Unix socket uses no TLS.
func (f *serveFlags) setTLS() error {
	switch {
	case f.tls.Cert == "" && f.tls.Key+f.tls.ClientCA != "":
		return errors.New("--tls-cert is not set; accepted: a file with a certificate, beside --tls-key")
	case f.tls.Cert != "" && f.tls.Key == "":
		return errors.New("--tls-key is not set; accepted: a file with the private key of --tls-cert")
	}
	f.TLS = daemon.TLS{RESP: f.tls, HTTP: f.tls, GRPC: f.tls, Admin: f.tls}
	if strings.HasPrefix(f.GRPC.Address, "unix:") {
		f.TLS.GRPC = policy.TLSFiles{}
	}
	return nil
}

// listeners applies the policies file's listeners to the configuration. Flags take precedence over addresses and the
// admin token file. The file's users and TLS files take precedence over flags, which apply to every listener.
func (f *serveFlags) listeners(c *cobra.Command, file *policy.Listeners) {
	for _, l := range []struct {
		flag     string
		listener *policy.Listener
		address  *string
		tls      *policy.TLSFiles
		users    *string
	}{
		{"resp", &file.RESP, &f.RESP, &f.TLS.RESP, &f.Users.RESP},
		{"http", &file.HTTP, &f.HTTP, &f.TLS.HTTP, &f.Users.HTTP},
		{"grpc", &file.GRPC, &f.GRPC.Address, &f.TLS.GRPC, &f.Users.GRPC},
		{"admin", &file.Admin, &f.Admin.Address, &f.TLS.Admin, nil},
	} {
		if l.listener.UsersFile != "" {
			*l.users = l.listener.UsersFile
		}
		if l.listener.Address != "" && !c.Flags().Changed(l.flag) {
			*l.address = l.listener.Address
		}
		if l.listener.TLS != (policy.TLSFiles{}) {
			*l.tls = l.listener.TLS
		}
	}
	if file.Admin.TokenFile != "" && !c.Flags().Changed("admin-token-file") {
		f.Admin.TokenFile = file.Admin.TokenFile
	}
}
