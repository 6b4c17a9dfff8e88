package daemon

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/redisstore/redisurl"
	"github.com/headgate/headgate/server/internal/tlsfiles"
)

// TLS names the certificate files of each listener. The zero value disables TLS.
type TLS struct{ RESP, HTTP, GRPC, Admin policy.TLSFiles }

// secure adds TLS to the listeners that have certificate files. TLS is the outermost layer, because HTTP needs access
// to the TLS connection to negotiate HTTP/2.
func (d *Daemon) secure() error {
	files := &d.config.TLS
	http := []string{"h2", "http/1.1"}
	errs := []error{
		d.secureOne("resp", &d.respListener, files.RESP, nil),
		d.secureOne("http", &d.httpListener, files.HTTP, http),
	}
	if d.grpc != nil {
		errs = append(errs, d.secureOne("grpc", &d.grpc.listener, files.GRPC, []string{"h2"}))
	}
	if d.admin != nil {
		errs = append(errs, d.secureOne("admin", &d.admin.listener, files.Admin, http), d.showStoreCertificate())
	}
	return errors.Join(errs...)
}

func (d *Daemon) secureOne(name string, l *net.Listener, files policy.TLSFiles, protocols []string) error {
	if *l == nil || files == (policy.TLSFiles{}) {
		return nil
	}
	f, err := tlsfiles.Open(files, protocols)
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key of %s: %w", name, err)
	}
	*l = f.Listen(*l)
	if d.admin != nil {
		d.admin.metrics.Certificate(name, f.Ends)
	}
	d.follow(d.logged("tls of "+name, f.Reload), f.Paths()...)
	return nil
}

// showStoreCertificate adds the certificate that this server shows to Redis to the metrics.
func (d *Daemon) showStoreCertificate() error {
	address, err := redisurl.Parse(d.config.Store)
	if err != nil || !address.Options.Has("cert_file") {
		return nil //nolint:nilerr // a store in memory has no URL, and opening a store has checked it
	}
	config, err := address.TLSConfig()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	d.admin.metrics.Certificate("store", func() time.Time {
		pair, err := config.GetClientCertificate(nil) // reads the files again, as each new connection does
		if err != nil {
			return time.Time{}
		}
		return tlsfiles.EndOf(pair)
	})
	return nil
}
