# The server alone: no compilers, no tests, no root.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/masquerade \
 && /opt/masquerade/bin/pip install --no-cache-dir '.[postgres]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/masquerade masquerade \
 && install --directory --owner=masquerade --mode=0700 /var/lib/masquerade/data /var/lib/masquerade/backups
COPY --from=build /opt/masquerade /opt/masquerade
ENV PATH=/opt/masquerade/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MASQUERADE_HOST=0.0.0.0 \
    MASQUERADE_PORT=8080 \
    MASQUERADE_DATA_DIR=/var/lib/masquerade/data \
    MASQUERADE_LOG_FORMAT=json
USER 10001
WORKDIR /var/lib/masquerade
VOLUME ["/var/lib/masquerade/data", "/var/lib/masquerade/backups"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
CMD ["masquerade", "serve", "--no-browser"]
