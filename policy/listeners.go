package policy

// Listeners are the listeners of the server, as set in a file.
type Listeners struct{ RESP, HTTP, GRPC, Admin Listener }

// Listener is one listener. The zero value means that the file does not mention it.
type Listener struct {
	// Address is the address to listen on, or off.
	Address string
	// TokenFile has the operators' tokens. Only the admin listener has such a file.
	TokenFile string
	// UsersFile lists the users that may call. The admin listener has no such file.
	UsersFile string
	// TLS has the names of the files for TLS.
	TLS TLSFiles
}

// TLSFiles are the files of a TLS listener. The zero value means no TLS.
type TLSFiles struct {
	// Cert has the certificate with its chain, and Key its private key, in PEM.
	Cert, Key string
	// ClientCA has CA certificates in PEM. Every client must present a certificate signed by one of them. If it is
	// "", no client certificate is required.
	ClientCA string
}

// Check returns an error if a required file is missing.
func (f *TLSFiles) Check() error {
	switch {
	case f.Cert == "":
		return invalid("cert", "not set", "a file with the certificate, beside key")
	case f.Key == "":
		return invalid("key", "not set", "a file with the private key of cert")
	}
	return nil
}

// listeners builds the listeners and reports every error.
func (f *file) listeners(report func(error)) (all Listeners) {
	build := func(name string, l *Listener, address, tokenFile *string, files *tlsFields) {
		l.Address, l.TokenFile = value(address), value(tokenFile)
		if address != nil {
			if err := checkAddress(l.Address); err != nil {
				report(atField(err, "listeners", name))
			}
		}
		if files == nil {
			return
		}
		l.TLS = TLSFiles{Cert: value(files.Cert), Key: value(files.Key), ClientCA: value(files.ClientCA)}
		if err := l.TLS.Check(); err != nil {
			report(atField(err, "listeners", name, "tls"))
		}
	}
	for _, l := range []struct {
		name   string
		fields *listenerFields
		to     *Listener
	}{{"resp", f.Listeners.RESP, &all.RESP}, {"http", f.Listeners.HTTP, &all.HTTP}, {"grpc", f.Listeners.GRPC, &all.GRPC}} {
		if l.fields != nil {
			build(l.name, l.to, l.fields.Address, nil, l.fields.TLS)
			l.to.UsersFile = value(l.fields.UsersFile)
		}
	}
	if a := f.Listeners.Admin; a != nil {
		build("admin", &all.Admin, a.Address, a.TokenFile, a.TLS)
	}
	return all
}

// value returns the text of a field that may not be set.
func value(field *string) string {
	if field == nil {
		return ""
	}
	return *field
}
