# The command line without Java: all of hotshard but the local engine, which it finds where
# HOTSHARD_ENDPOINT says.
#
#	make image
#	docker run --rm -e AWS_REGION -e AWS_ACCESS_KEY_ID -e AWS_SECRET_ACCESS_KEY -e AWS_SESSION_TOKEN hotshard top --table orders
FROM scratch
ARG TARGETARCH=amd64
COPY dist/image/ca-certificates.crt /etc/ssl/certs/
COPY dist/release/hotshard-linux-${TARGETARCH} /hotshard
USER 65532:65532
ENTRYPOINT ["/hotshard"]
