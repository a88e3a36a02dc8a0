# The server alone: no compilers, no tests, no root. Every package is the one whose hash is locked.
# A tag can come to mean another image, so the base is named by its digest (3.12.14 on Debian trixie).
# It brings no later security updates: ask the registry for the digest of today and write it here,
#   docker buildx imagetools inspect python:3.12-slim --format '{{.Manifest.Digest}}'
# or give it for one build: docker build --build-arg PYTHON_IMAGE=python:3.12-slim@sha256:... .
ARG PYTHON_IMAGE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
FROM ${PYTHON_IMAGE} AS build
WORKDIR /source
COPY requirements requirements
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
 && python -m venv /opt/masquerade \
 && /opt/masquerade/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements/server.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/masquerade/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/masquerade masquerade \
 && install --directory --owner=masquerade --mode=0700 /var/lib/masquerade/data \
    /var/lib/masquerade/keys /var/lib/masquerade/backups /var/lib/masquerade/helper
COPY --from=build /opt/masquerade /opt/masquerade
ENV PATH=/opt/masquerade/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MASQUERADE_HOST=0.0.0.0 \
    MASQUERADE_PORT=8080 \
    MASQUERADE_DATA_DIR=/var/lib/masquerade/data \
    MASQUERADE_SERVER_KEY_FILE=/var/lib/masquerade/keys/server.key \
    MASQUERADE_LOG_FORMAT=json
USER 10001
WORKDIR /var/lib/masquerade
VOLUME ["/var/lib/masquerade/data", "/var/lib/masquerade/keys", "/var/lib/masquerade/backups", \
        "/var/lib/masquerade/helper"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
CMD ["masquerade", "serve", "--no-browser"]
