/** Writes a file of its own for each page: public ones whole, the others as the frame that is there at once. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { build, type Plugin, type Rolldown } from 'vite'
import type * as prerender from './src/app/prerender'

type Bundle = Rolldown.OutputBundle
type Prerender = typeof prerender

const root = import.meta.dirname
const source = `${root}/src`
const scratch = `${root}/node_modules/.prerender`

/** The app for the build's own use, where a browser's globals are missing. */
async function loadPrerender(): Promise<Prerender> {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    resolve: { alias: { '@': source } },
    build: {
      ssr: `${source}/app/prerender.tsx`,
      outDir: scratch,
      emptyOutDir: true,
      rolldownOptions: { output: { entryFileNames: 'prerender.mjs' } },
    },
  })
  const nothing = { matches: false, addEventListener: () => undefined }
  Object.assign(globalThis, { matchMedia: () => nothing, location: new URL('http://localhost/') })
  return (await import(`${pathToFileURL(scratch).href}/prerender.mjs`)) as Prerender
}

/** The built file of a module, and all that it imports at once. */
function filesOf(bundle: Bundle, module: string): string[] {
  const chunks = Object.values(bundle).filter((output) => output.type === 'chunk')
  const first = chunks.find((chunk) => chunk.moduleIds.some((id) => id.endsWith(module)))
  if (!first) throw new Error(`${module} is in no file.`)
  const found = new Set([first.fileName])
  for (const name of found) {
    const output = bundle[name]
    if (output?.type === 'chunk') output.imports.forEach((imported) => found.add(imported))
  }
  return [...found]
}

/** What a page draws with, to be fetched at once and not one after the other. */
function modulesOf(path: string, isMemberPage: boolean): string[] {
  if (path === '/') return ['/app/landing.tsx']
  const app = ['/app/router.tsx', `/routes${path === '/404' ? '/not-found' : path}.tsx`]
  if (isMemberPage)
    return [
      ...app,
      '/app/member-guard.tsx',
      '/app/member-header.tsx',
      '/app/notice-strip.tsx',
      '/supabase-js/dist/index.mjs',
    ]
  if (path.startsWith('/admin/') && path !== '/admin/login')
    return [...app, '/app/admin-shell.tsx', '/supabase-js/dist/index.mjs']
  return app
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

function headOf(path: string, app: Prerender): string {
  const texts = app.pageHeads[path]
  const title = texts?.title ? `${texts.title} - ${app.productName}` : app.productName
  const lines = [`<title>${escaped(title)}</title>`]
  if (texts) {
    const description = escaped(texts.description)
    lines.push(
      `<meta name="description" content="${description}" />`,
      '<meta property="og:type" content="website" />',
      `<meta property="og:title" content="${escaped(title)}" />`,
      `<meta property="og:description" content="${description}" />`,
      `<meta property="og:site_name" content="${escaped(app.productName)}" />`,
      // Previews need whole addresses: site-pages.mjs writes them, for each site that serves this build.
      `<meta property="og:url" content="${path}" />`,
      `<meta property="og:image" content="${app.previewOf(path)}" />`,
      '<meta property="og:image:width" content="1200" />',
      '<meta property="og:image:height" content="630" />',
      `<meta property="og:image:alt" content="${escaped(texts.title || texts.description)}" />`,
      '<meta name="twitter:card" content="summary_large_image" />',
    )
  } else lines.push('<meta name="robots" content="noindex" />')
  return lines.join('\n    ')
}

function preloadsOf(files: string[]): string {
  return files.map((file) => `  <link rel="modulepreload" crossorigin href="/${file}" />\n  `).join('')
}

function write(file: string, html: string): void {
  mkdirSync(file.slice(0, file.lastIndexOf('/')), { recursive: true })
  writeFileSync(file, html)
  writeFileSync(`${file}.br`, brotliCompressSync(html))
  writeFileSync(`${file}.gz`, gzipSync(html, { level: 9 }))
}

export function pages(): Plugin {
  return {
    name: 'pages',
    apply: (config, { command }) => command === 'build' && !config.build?.ssr,
    async writeBundle({ dir = '' }, bundle) {
      const template = readFileSync(`${dir}/index.html`, 'utf8')
      const app = await loadPrerender()
      for (const path of [...app.allPages, '/404']) {
        const modules = modulesOf(path, app.isMemberPage(path))
        const start = new Set(filesOf(bundle, '/src/main.tsx'))
        const files = new Set(modules.flatMap((module) => filesOf(bundle, module)))
        const first = app.firstCallOf(path)
        const call = first ? ` data-call="${first.call}" data-realm="${first.realm}"` : ''
        // The address of this page is a key: nothing that the page itself loads is told of it.
        const policy = path === app.paths.confirm ? '<meta name="referrer" content="no-referrer" />' : ''
        const html = template
          // Before the preloads, which are asked for as they are read.
          .replace('<head>', `<head>${policy}`)
          .replace('<!--page-head-->', () => headOf(path, app))
          // After the stylesheet, which the first paint waits for.
          .replace('</head>', () => `${preloadsOf([...files].filter((file) => !start.has(file)))}  </head>`)
          .replace('<script src="/config.js">', `<script src="/config.js"${call}>`)
        const content = await app.render(path)
        write(
          `${dir}${path === '/' ? '/index' : path}.html`,
          html.replace('<!--page-->', () => content),
        )
      }
      rmSync(scratch, { recursive: true })
    },
  }
}
