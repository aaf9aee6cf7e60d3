import type { KnipConfig } from 'knip'

export default {
  // Built by pages.ts for its own use; run by the launcher.
  entry: ['src/app/prerender.tsx', 'site-pages.mjs'],
  project: ['src/**/*.{ts,tsx,css}', '*.{ts,mjs}'],
  // The generated types hold names that nobody has needed yet.
  ignore: ['src/lib/database.types.ts'],
  ignoreBinaries: ['make'],
  compilers: {
    css: (text: string) =>
      text
        .match(/@import\s+['"][^'"]+['"]/g)
        ?.join('\n')
        .replaceAll('@import', 'import') ?? '',
  },
} satisfies KnipConfig
