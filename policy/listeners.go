package policy

// Listeners are the server's listeners, as set in a file.
type Listeners struct{ RESP, HTTP, GRPC, Admin Listener }

// Listener is one listener. The zero value means that the file does not mention it.
type Listener struct {
	// Address is the address to listen on, or off.
	Address string
	// TokenFile is the file with the operators' tokens. It is only for the admin listener.
	TokenFile string
	// UsersFile is the file with the users that may call. It is not for the admin listener.
	UsersFile string
	// TLS holds the names of the listener's TLS files.
	TLS TLSFiles
}

// TLSFiles are the files of a TLS listener. The zero value means no TLS.
type TLSFiles struct {
	// Cert is the file with the certificate and its chain, and Key the file with the private key, both in PEM.
	Cert, Key string
	// ClientCA is the file with CA certificates in PEM. Every client must present a certificate signed by one of them.
	// If ClientCA is "", no client certificate is required.
	ClientCA string
}

// Check returns an error if the name of a required file is not set.
func (f *TLSFiles) Check() error {
	switch {
	case f.Cert == "":
		return invalid("cert", "not set", "a file with the certificate, beside key")
	case f.Key == "":
		return invalid("key", "not set", "a file with the private key of cert")
	}
	return nil
}

// listeners builds the listeners and reports all errors.
func (f *file) listeners(report func(error)) (all Listeners) {
	build := func(name string, l *Listener, address *string, files *tlsFields) {
		l.Address = value(address)
		if address != nil {
			if err := checkAddress(l.Address); err != nil {
				report(atField(err, "listeners", name))
			}
		}
		if files == nil {
			return
		}
		l.TLS = TLSFiles{Cert: string(files.Cert), Key: string(files.Key), ClientCA: string(files.ClientCA)}
		if err := l.TLS.Check(); err != nil && !files.broken {
			report(atField(err, "listeners", name, "tls"))
		}
	}
	for _, l := range []struct {
		name   string
		fields *listenerFields
		to     *Listener
	}{{"resp", f.Listeners.RESP, &all.RESP}, {"http", f.Listeners.HTTP, &all.HTTP}, {"grpc", f.Listeners.GRPC, &all.GRPC}} {
		if l.fields != nil {
			build(l.name, l.to, l.fields.Address, l.fields.TLS)
			l.to.UsersFile = value(l.fields.UsersFile)
		}
	}
	if a := f.Listeners.Admin; a != nil {
		build("admin", &all.Admin, a.Address, a.TLS)
		all.Admin.TokenFile = value(a.TokenFile)
	}
	return all
}

// value returns the text of an optional field, or "".
func value[T ~string](field *T) string {
	if field == nil {
		return ""
	}
	return string(*field)
}
