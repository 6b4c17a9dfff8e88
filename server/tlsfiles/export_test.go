package tlsfiles

// LookAlways has the files looked at for each connection.
func LookAlways() { maxAge = 0 }
