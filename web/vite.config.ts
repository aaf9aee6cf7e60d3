import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import tailwindcss from '@tailwindcss/vite'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

const preloaded = ['familjen-grotesk-latin-wght-normal', 'instrument-sans-latin-wght-normal']

/** Preloads the two faces every page needs; their built names are only known once bundled. */
function preloadFonts(): Plugin {
  return {
    name: 'preload-fonts',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle }) =>
        Object.keys(bundle ?? {})
          .filter((file) => preloaded.some((face) => file.includes(face)))
          .map((file) => ({
            tag: 'link',
            attrs: { rel: 'preload', href: `/${file}`, as: 'font', type: 'font/woff2', crossorigin: '' },
            injectTo: 'head-prepend' as const,
          })),
    },
  }
}

/** Writes each script and stylesheet a second and third time, compressed as hard as it goes, for the gateway. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const output of Object.values(bundle)) {
          if (!/\.(js|css)$/.test(output.fileName)) continue
          const source = output.type === 'chunk' ? output.code : output.source
          this.emitFile({
            type: 'asset',
            fileName: `${output.fileName}.br`,
            source: brotliCompressSync(source),
          })
          this.emitFile({
            type: 'asset',
            fileName: `${output.fileName}.gz`,
            source: gzipSync(source, { level: 9 }),
          })
        }
      },
    },
  }
}

// `DEV_BACKEND=http://127.0.0.1:<port> npm run dev` serves the sources against a running stack.
const backend = process.env.DEV_BACKEND
const forwarded = ['/config.js', '/auth/v1', '/rest/v1', '/storage/v1', '/functions/v1']

export default defineConfig({
  plugins: [react(), tailwindcss(), preloadFonts(), precompress()],
  resolve: { alias: { '@': import.meta.dirname + '/src' } },
  server: {
    host: '127.0.0.1',
    proxy: backend ? Object.fromEntries(forwarded.map((path) => [path, backend])) : undefined,
  },
  build: {
    // A face inlined into the stylesheet could not be preloaded.
    assetsInlineLimit: 0,
    target: 'es2022',
  },
  test: { include: ['src/**/*.test.ts'] },
})
