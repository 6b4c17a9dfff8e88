// Package accesslog reads access logs and returns their requests in order of time.
//
//	request.go   one line of a log as a request
//	fields.go    the fields of a format, and the fields that a replay needs
//	template.go  lines described by a format string: nginx, Apache, HAProxy
//	escape.go    quoted values
//	nginx.go     nginx variables
//	apache.go    Apache directives
//	column.go    the names that JSON fields have
//	json.go      JSON lines, by the names of their fields
//	carried.go   lines that syslog wrote
//	stamp.go     times in the formats that logs use
//	detect.go    detects the format of a file
//	lines.go     a file as lines: plain or gzip
//	order.go     sorts the requests in one file; spreads whole seconds
//	file.go      one file as requests
//	log.go       several files as one log
//
// Lines that are not requests are counted, and the first few are kept for the report. They never end the reading.
package accesslog
