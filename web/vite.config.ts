import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import tailwindcss from '@tailwindcss/vite'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import pdfjs from 'pdfjs-dist/package.json' with { type: 'json' }
import { sharedFiles } from './chunks'
import { pages } from './pages'

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

// Without WebAssembly, which the page's policy forbids, and without the sandbox for a PDF's own scripts.
const pdfFolders = {
  cmaps: /./,
  standard_fonts: /./,
  wasm: /_nowasm_fallback\.js$|^LICENSE_.*(JBIG2|OPENJPEG)$/,
}

/** Lays beside the build what pdf.js fetches by name when a PDF needs it: encodings, fonts, an image decoder. */
function pdfFiles(): Plugin {
  return {
    name: 'pdf-files',
    apply: 'build',
    generateBundle() {
      for (const [folder, wanted] of Object.entries(pdfFolders)) {
        const source = `${import.meta.dirname}/node_modules/pdfjs-dist/${folder}`
        for (const name of readdirSync(source).filter((file) => wanted.test(file))) {
          this.emitFile({
            type: 'asset',
            fileName: `assets/pdfjs-${pdfjs.version}/${folder}/${name}`,
            source: readFileSync(`${source}/${name}`),
          })
        }
      }
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
          if (!/\.(m?js|css)$/.test(output.fileName)) continue
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
  plugins: [react(), tailwindcss(), preloadFonts(), pdfFiles(), precompress(), pages()],
  resolve: { alias: { '@': import.meta.dirname + '/src' } },
  server: {
    host: '127.0.0.1',
    proxy: backend ? Object.fromEntries(forwarded.map((path) => [path, backend])) : undefined,
  },
  build: {
    // A face inlined into the stylesheet could not be preloaded.
    assetsInlineLimit: 0,
    target: 'es2022',
    // What the libraries in the build ask to be passed on with it, as /licenses.txt.
    license: { fileName: 'licenses.txt' },
    rolldownOptions: {
      // Radix names each function by a call; without this none of those that a page does not use could be left out.
      treeshake: { manualPureFunctions: ['__name'] },
      output: {
        codeSplitting: {
          groups: [
            // Those with a higher priority take their modules first; the shared files have at most 8.
            // What every page starts with is asked for at once, not in ten small files.
            { name: 'start', tags: ['$initial'], priority: 10 },
            // What the start does not need of a library that it uses.
            { name: 'queries', test: /node_modules\/@tanstack\/(query-core|react-query)\//, priority: 9 },
            ...sharedFiles,
            // What stands around every member's page.
            { name: 'members', test: /\/app\/(member-guard|member-header|notice-strip)\.tsx$/ },
          ],
        },
      },
    },
  },
  test: { include: ['src/**/*.test.ts'] },
})
