package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/headgate/headgate/policy/files"
)

// certificateFlags holds the flags for calling a server over TLS.
type certificateFlags struct{ ca, cert, key string }

func (f *certificateFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.ca, "ca", "", "`file` with CA certificates in PEM for the server's certificate; by default the system's")
	flags.StringVar(&f.cert, "cert", "", "`file` with a client certificate in PEM")
	flags.StringVar(&f.key, "key", "", "`file` with the private key of --cert in PEM")
}

// config returns the TLS configuration for a server's address, which begins with the scheme if the server speaks TLS.
// With another address the flags are an error: the call, with its secret, would not be encrypted.
func (f *certificateFlags) config(address, scheme string) (*tls.Config, error) {
	if f.ca+f.cert+f.key != "" && !strings.HasPrefix(address, scheme) {
		return nil, fmt.Errorf("--ca, --cert and --key: accepted: with the address of a server that speaks TLS, %shost:port", scheme)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		all, err := files.Certificates(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = all
	}
	if f.cert+f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// tlsHint returns a text to append to the error of a call that got no answer. If the server's certificate is not
// trusted, the text names the flag for the authority. If the server closed a connection without TLS, it names the
// scheme for TLS. Otherwise the text is "".
func tlsHint(err error, secure bool, scheme string) string {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case untrusted:
		return "; --ca names the file of the certificate's authority"
	case !secure && errors.Is(err, io.EOF):
		return "; a listener with TLS is " + scheme + "HOST:PORT"
	}
	return ""
}
