import { usePlatform } from '@/lib/platform'
import { supportLink } from '@/lib/support'

/** Beside a sentence that says to contact support: where. Nothing where the operator named no place. */
export function SupportLink() {
  const link = supportLink(usePlatform().data)
  if (!link) return null
  return (
    <a href={link} className="text-link inline-flex min-h-6 items-center pointer-coarse:min-h-11">
      Contact support
    </a>
  )
}
