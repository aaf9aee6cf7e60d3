import { config, z } from 'zod'

// The page's policy lets nothing be compiled from text. zod would try, and each try is reported as a violation.
config({ jitless: true })

export { z }
