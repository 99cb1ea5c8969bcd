module clusterpass.dev/credential

go 1.19
