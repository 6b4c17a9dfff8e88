{{- define "labels" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}
{{- define "several" -}}
{{ if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}yes{{ end }}
{{- end }}
