package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// tlsFlags holds the flags of serve for TLS files. They apply to listeners without TLS files in the policies file.
type tlsFlags struct{ files policy.TLSFiles }

func (f *tlsFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.files.Cert, "tls-cert", "", "`file` with a certificate and its chain in PEM, reread when it changes: every listener then uses TLS")
	flags.StringVar(&f.files.Key, "tls-key", "", "`file` with the private key of --tls-cert in PEM")
	flags.StringVar(&f.files.ClientCA, "tls-client-ca", "", "`file` with CA certificates in PEM: clients must present a certificate signed by one of them")
}

// apply returns the TLS files of each listener. A Unix socket uses no TLS.
func (f *tlsFlags) apply(grpc string) (daemon.TLS, error) {
	switch {
	case f.files.Cert == "" && f.files.Key+f.files.ClientCA != "":
		return daemon.TLS{}, errors.New("--tls-cert is not set; accepted: a file with a certificate, beside --tls-key")
	case f.files.Cert != "" && f.files.Key == "":
		return daemon.TLS{}, errors.New("--tls-key is not set; accepted: a file with the private key of --tls-cert")
	}
	all := daemon.TLS{RESP: f.files, HTTP: f.files, GRPC: f.files, Admin: f.files}
	if strings.HasPrefix(grpc, "unix:") {
		all.GRPC = policy.TLSFiles{}
	}
	return all, nil
}

// listeners applies the policies file's listeners to the configuration. Flags take precedence over addresses and the
// admin token file. The file's users and TLS files take precedence over flags, which apply to every listener.
func (f *serveFlags) listeners(c *cobra.Command, config *daemon.Config, file *policy.Listeners) {
	for _, l := range []struct {
		flag     string
		listener *policy.Listener
		address  *string
		tls      *policy.TLSFiles
		users    *string
	}{
		{"resp", &file.RESP, &config.RESP, &config.TLS.RESP, &config.Users.RESP},
		{"http", &file.HTTP, &config.HTTP, &config.TLS.HTTP, &config.Users.HTTP},
		{"grpc", &file.GRPC, &config.GRPC.Address, &config.TLS.GRPC, &config.Users.GRPC},
		{"admin", &file.Admin, &config.Admin.Address, &config.TLS.Admin, nil},
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
		config.Admin.TokenFile = file.Admin.TokenFile
	}
}
