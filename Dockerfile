# syntax=docker/dockerfile:1
#
# Sluice as an image: `docker build -t sluice .`
#
#   docker run --rm sluice --version
#   docker run -p 8080:8080 -v sluice-data:/data --read-only sluice          # sluice serve
#   docker run --rm -v sluice-data:/data sluice app create "my app"          # also while the server runs
#
# It runs as the user `node` (1000), and writes to /data alone. test/install/image.test.ts runs these very steps.

# The Node that the tests run on.
ARG NODE_VERSION=26.10.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund --ignore-scripts
RUN npm run build
# What the command needs at run time, in the versions of the lock file, and an empty directory for the data.
RUN rm -rf node_modules packages/*/node_modules && \
    npm ci --no-audit --no-fund --ignore-scripts --omit=dev --omit=optional --workspace=sluice --include-workspace-root=false && \
    mkdir -p data packages/sluice/node_modules

FROM node:${NODE_VERSION}-bookworm-slim
# Node is left, and nothing that installs or builds.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn*
WORKDIR /opt/sluice
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/packages/sluice/node_modules ./packages/sluice/node_modules
COPY --from=build /src/dist ./packages
COPY --from=build --chown=node:node --chmod=700 /src/data /data
ENV NODE_ENV=production \
    SLUICE_DATA=/data \
    SLUICE_HOST=0.0.0.0 \
    SLUICE_PORT=8080
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SLUICE_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/sluice/packages/sluice/bin/sluice.js"]
CMD ["serve"]
