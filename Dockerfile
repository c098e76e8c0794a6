# The image of a ledger on one machine, which keeps nothing: `ledger up --memory`. It has the static program, in which
# certificate roots and time zones are, and nothing else. Its context is an unpacked archive of a release for Linux, so the
# build needs no network:
#
#   docker build --network none -t ledger ledger_0.1.0_linux_amd64
#
# Whoever reaches the port can read and post everything. Give `up` each name by which others call it:
#
#   docker run --rm -p 127.0.0.1:8080:8080 ledger
#   docker run --rm --network shop --name ledger ledger up --memory --listen 0.0.0.0 --host ledger
FROM scratch
COPY ledger LICENSE THIRD_PARTY.txt /
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["/ledger", "health"]
ENTRYPOINT ["/ledger"]
CMD ["up", "--memory", "--listen", "0.0.0.0", "--host", "localhost"]
