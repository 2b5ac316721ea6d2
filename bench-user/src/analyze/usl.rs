//! The Universal Scalability Law, fitted to achieved rates.
//!
//! X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)) (Gunther 1993): N connections, X
//! requests per second, lambda the rate of one connection, sigma the share that waits for one
//! thing (contention), kappa the price of agreeing with each other (coherency).
//!
//! With y = N / X the law is linear: y = c0 + c1 (N - 1) + c2 N (N - 1), lambda = 1 / c0,
//! sigma = c1 / c0, kappa = c2 / c0. Weights 1 / y^2 make the squares those of relative errors,
//! so that no large rate drowns a small one, and the fit needs no starting values. Negative
//! sigma or kappa mean nothing: the term is dropped and the rest is fitted again.

use crate::record::UslFit;

/// Fewest levels: three unknowns and one to contradict them.
const LEVELS_FROM: usize = 4;

/// Fits (connections, rate) pairs; `None` with fewer than four different levels that have a
/// rate, or where no fit has a rate above zero.
#[must_use]
pub fn fit(points: &[(f64, f64)]) -> Option<UslFit> {
    let mut points: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.1 > 0.0).collect();
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let levels = points.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()).count();
    if levels < LEVELS_FROM {
        return None;
    }
    let terms = [[true, true], [true, false], [false, true], [false, false]];
    terms
        .into_iter()
        .filter_map(|[contention, coherency]| least_squares(&points, contention, coherency))
        .filter(|fit| fit.lambda > 0.0 && fit.sigma >= 0.0 && fit.kappa >= 0.0)
        .min_by(|a, b| a.residual.total_cmp(&b.residual))
}

fn least_squares(points: &[(f64, f64)], contention: bool, coherency: bool) -> Option<UslFit> {
    let use_term = [true, contention, coherency];
    // Normal equations; a dropped term keeps a row that says it is zero.
    let mut rows = [[0.0_f64; 4]; 3];
    for &(n, x) in points {
        let y = n / x;
        let basis = [1.0, n - 1.0, n * (n - 1.0)];
        for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| use_term[*i]) {
            for j in (0..3).filter(|j| use_term[*j]) {
                row[j] += basis[i] * basis[j] / (y * y);
            }
            row[3] += basis[i] / y;
        }
    }
    for i in (0..3).filter(|i| !use_term[*i]) {
        rows[i][i] = 1.0;
    }
    let [c0, c1, c2] = solve(rows)?;
    let (lambda, sigma, kappa) = (1.0 / c0, c1 / c0, c2 / c0);
    let squares = points.iter().map(|&(n, x)| {
        let predicted = lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        (predicted / x - 1.0).powi(2)
    });
    #[expect(clippy::cast_precision_loss, reason = "a ladder has few levels")]
    let residual = (squares.sum::<f64>() / points.len() as f64).sqrt();
    residual.is_finite().then_some(UslFit { lambda, sigma, kappa, residual })
}

/// Gauss elimination with pivoting; `None` for a singular system.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let lead = rows[column];
        if lead[column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != column) {
            let factor = row[column] / lead[column];
            for (cell, lead) in row.iter_mut().zip(lead) {
                *cell -= factor * lead;
            }
        }
    }
    Some([0, 1, 2].map(|i| rows[i][3] / rows[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(lambda: f64, sigma: f64, kappa: f64) -> impl Fn(f64) -> (f64, f64) {
        move |n| (n, lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)))
    }

    fn close(got: f64, expected: f64) -> bool {
        (got - expected).abs() <= expected.abs() * 1e-6 + 1e-12
    }

    #[test]
    fn known_parameters_come_back() {
        for (lambda, sigma, kappa) in
            [(995.65, 0.0267, 0.000_769), (100.0, 0.05, 0.0), (5e4, 0.0, 1e-5)]
        {
            let points: Vec<_> =
                [1.0, 4.0, 8.0, 16.0, 32.0, 100.0].map(law(lambda, sigma, kappa)).to_vec();
            let fit = fit(&points).unwrap();
            assert!(close(fit.lambda, lambda) && fit.residual < 1e-9, "{fit:?}");
            assert!(
                (fit.sigma - sigma).abs() < 1e-9 && (fit.kappa - kappa).abs() < 1e-9,
                "{fit:?}"
            );
        }
    }

    #[test]
    fn more_than_linear_growth_drops_terms_instead_of_making_them_negative() {
        let fit = fit(&[(1.0, 1.0), (2.0, 2.5), (4.0, 6.0), (8.0, 13.0)]).unwrap();
        assert!(fit.sigma >= 0.0 && fit.kappa >= 0.0 && fit.residual > 0.05, "{fit:?}");
    }

    #[test]
    fn fewer_than_four_levels_or_no_rates_give_no_fit() {
        assert_eq!(fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (3.0, 3.1)]), None);
        assert_eq!(fit(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)]), None);
    }
}
