import type { KnipConfig } from 'knip'

export default {
  entry: ['public/*.js'],
  project: ['src/**/*.{ts,tsx,css}', 'public/*.js'],
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
