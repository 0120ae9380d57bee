// The equations of tfmlib.ref, for what is computed in the browser. A matrix is a list of rows.
(function () {
  "use strict";

  const UNITS = { radians: 1, degrees: Math.PI / 180 };

  const grid = (rows, columns, cell) =>
    Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => cell(i, j)));
  const transpose = (matrix) => grid(matrix[0].length, matrix.length, (i, j) => matrix[j][i]);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  function matmul(a, b) {
    const columns = transpose(b);
    return a.map((row) => columns.map((column) => dot(row, column)));
  }

  // Of one row; a row of −∞ gives zeros.
  function softmax(row) {
    const peak = Math.max(...row);
    const powers = row.map((x) => (peak === -Infinity ? 0 : Math.exp(x - peak)));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / (total || 1));
  }

  const oneHot = (ids, size) => grid(ids.length, size, (i, j) => Number(ids[i] === j));

  // ω_j = 10000^(-2j/d), one for each pair of dimensions
  const frequencies = (d) => Array.from({ length: d / 2 }, (_, j) => 10000 ** ((-2 * j) / d));

  // One row for each position. In degrees: what a calculator in the wrong mode makes of the equations.
  function sinusoidalEncoding(positions, d, unit = "radians") {
    const omegas = frequencies(d);
    const angles = positions.map((i) => omegas.map((omega) => i * omega * UNITS[unit]));
    return angles.map((row) => row.flatMap((angle) => [Math.sin(angle), Math.cos(angle)]));
  }

  // The rotation M, pair by pair, with M PE_i = PE_{i + offset}
  function shiftMatrix(offset, d, unit = "radians") {
    const matrix = grid(d, d, () => 0);
    frequencies(d).forEach((omega, j) => {
      const angle = offset * omega * UNITS[unit];
      const [even, odd] = [2 * j, 2 * j + 1];
      matrix[even][even] = matrix[odd][odd] = Math.cos(angle);
      matrix[even][odd] = Math.sin(angle);
      matrix[odd][even] = -Math.sin(angle);
    });
    return matrix;
  }

  tfm.ref = {
    UNITS, grid, transpose, dot, matmul, softmax, oneHot, frequencies, sinusoidalEncoding, shiftMatrix,
  };
})();
