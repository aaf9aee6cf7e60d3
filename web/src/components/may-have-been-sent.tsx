import { Link } from 'react-router'
import { paths } from '@/lib/paths'
import { Notice } from './notice'

/** Above a form whose last attempt got no answer: what is known, and what not to do. */
export function MayHaveBeenSent() {
  return (
    <Notice tone="warning" role="status" title="Your last attempt got no response.">
      <p>
        It may have been sent: check your{' '}
        <Link to={paths.transactions} className="text-link">
          transactions
        </Link>{' '}
        before you send it again. Sent again unchanged, it is never made twice.
      </p>
    </Notice>
  )
}
